import type {
  CallbackQuery,
  Chat,
  ChatMember,
  ChatMemberUpdated,
  Message,
  MessageGenerationStopped,
  Update,
  User,
} from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Presence } from '../../shared/state/chat/chat.ts';
import type { GroupMove } from '../../shared/state/message/inbox.ts';
import { commandOf } from '../../shared/telegram/commands.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import { type Gate, isAddressed, isForAnother, isGuest, isOpen } from './gate.ts';
import { isInteger, type RawMessage, wellFormed } from './raw-message.ts';
import { contentOf, contextOf } from './read-content.ts';

/** The reason why an update was not accepted. Such an update is counted and gets no reply. */
type IgnoreReason =
  | 'not_allowed'
  | 'not_an_operator'
  | 'not_a_message'
  | 'from_a_bot'
  | 'for_another_bot'
  | 'not_addressed'
  | 'service_message'
  | 'malformed';

/** The decision about one update. Includes a message that does not address the bot, for context or to complete another one. */
export type UpdateReading =
  | { accept: true; message: InboundMessage }
  | { accept: false; reason: Exclude<IgnoreReason, 'not_addressed'> }
  | { accept: false; reason: 'not_addressed'; message: InboundMessage };

const ALBUM_CHARS = 64;
const TITLE_CHARS = 128;
const NAME_CHARS = 64;
const LANGUAGE_CODE = /^[a-z]{2,8}(?:-[a-z0-9]{1,8}){0,3}$/i;

/**
 * Decides about one update: accepts it as a message, or ignores it for a stated reason. Default deny: unless everyone is
 * allowed, the allow list must contain the group's id or, for a private chat, the person's. A group's message must also be for
 * the bot. Ignores unknown fields, because Telegram often adds fields. Pure, never throws.
 */
export function readUpdate(update: unknown, gate: Gate, textMaxChars: number): UpdateReading {
  const { update_id: updateId, message } = (update ?? {}) as RawUpdate;
  if (!isInteger(updateId)) return ignore('malformed');
  if (typeof message !== 'object' || message === null) return ignore('not_a_message');
  const { chat, from } = message;
  if (!isInteger(chat?.id) || !isInteger(from?.id) || !isInteger(message.message_id)) return ignore('malformed');
  const isPrivate = chatType(chat.type) === 'private';
  if (!isOpen(gate, from.id, chat.id, isPrivate)) return ignore('not_allowed');
  if (from.is_bot === true && !isOnBehalfOfChat(message)) return ignore('from_a_bot');
  if (!isPrivate && isForAnother(message, gate.bot)) return ignore('for_another_bot');
  const content = contentOf(message, textMaxChars);
  if (content === undefined) return ignore('service_message');
  const inboundMessage: InboundMessage = {
    v: 1,
    updateId,
    ...placeOf(message, chat.id),
    ...(typeof chat.title === 'string' && { chatTitle: graphemePrefix(wellFormed(chat.title), TITLE_CHARS) }),
    messageId: message.message_id,
    from: personOf(from, from.id, !isPrivate && isGuest(gate, from.id, chat.id, message)),
    sentAtMs: millisecondsOf(message.date),
    ...albumOf(message),
    ...contextOf(message, gate.bot.id),
    content,
  };
  if (isPrivate || isAddressed(message, chat.id, gate)) return { accept: true, message: inboundMessage };
  return { accept: false, reason: 'not_addressed', message: inboundMessage };
}

/** Whether somebody wrote on behalf of a chat. Telegram then puts a bot of its own into `from`, although a person wrote. */
function isOnBehalfOfChat({ sender_chat: senderChat }: RawMessage): boolean {
  return typeof senderChat === 'object' && senderChat !== null;
}

/** The id and the kind of a message's chat, and the message's topic if there is one. */
export function placeOf(message: RawMessage, chatId: number): Pick<InboundMessage, 'chatId' | 'topicId' | 'chatType'> {
  const { chat, is_topic_message: isTopic, message_thread_id: id } = message;
  const topic = isTopic === true && isInteger(id) && id > 0 ? { topicId: id } : {};
  return { chatId, ...topic, chatType: chatType(chat?.type) };
}

/** The person who wrote a message or pressed a button: id, shortened first name, and language of the Telegram app. */
export function personOf(from: Unchecked<User>, id: number, isGuest: boolean): InboundMessage['from'] {
  const { first_name: name, language_code: code } = from;
  return {
    id,
    ...(typeof name === 'string' && { name: graphemePrefix(wellFormed(name), NAME_CHARS) }),
    ...(typeof code === 'string' && LANGUAGE_CODE.test(code) && { language: code }),
    ...(isGuest && { isGuest }),
  };
}

function albumOf({ media_group_id: id }: RawMessage): { album?: string } {
  return typeof id === 'string' && id !== '' && id.length <= ALBUM_CHARS && id === wellFormed(id) ? { album: id } : {};
}

/** Converts a date from seconds to milliseconds; 0 if the date is absent or too large to be exact. */
function millisecondsOf(date: unknown): number {
  const ms = isInteger(date) ? date * 1000 : 0;
  return isInteger(ms) ? ms : 0;
}

/** The kind of a chat; `private` for a kind that we do not know. */
export function chatType(type: unknown): InboundMessage['chatType'] {
  return type === 'group' || type === 'supergroup' || type === 'channel' ? type : 'private';
}

function ignore(reason: Exclude<IgnoreReason, 'not_addressed'>): UpdateReading {
  return { accept: false, reason };
}

/** The message that results from an edit, or the reason to ignore the edit. */
type EditReading =
  | { accept: false; reason: IgnoreReason }
  | {
      accept: true;
      message: InboundMessage;
      /** Whether to accept the message as new if the inbox does not know it: perhaps only the edit made it address the bot. */
      mayBeNew: boolean;
    };

/**
 * An edit can make a message new for the bot only within this many seconds after the message was sent. Telegram may report
 * edits much later, even of details that a bot cannot see, and after 48 hours the inbox no longer knows which messages it
 * accepted.
 */
const NEW_WITHIN_S = 3_600;

/** Whether an update is an edit of a message. */
export function isEdit(update: unknown): boolean {
  return isFields(update) && 'edited_message' in update;
}

/**
 * Reads an edit as the message that results from it, even if that message does not address the bot. An edit can make a message
 * new for the bot only in a group, because in a private chat no message has to address the bot. Pure, never throws.
 */
export function readEdit(update: unknown, gate: Gate, textMaxChars: number): EditReading {
  const { update_id, edited_message: edited } = update as RawUpdate;
  const reading = readUpdate({ update_id, message: edited }, gate, textMaxChars);
  if (!reading.accept && reading.reason !== 'not_addressed') return reading;
  const { message } = reading;
  const mayBeNew = reading.accept && message.chatType !== 'private' && isSoon(edited as RawMessage);
  return { accept: true, message, mayBeNew };
}

function isSoon({ date, edit_date: editDate }: RawMessage): boolean {
  return isInteger(date) && isInteger(editDate) && editDate - date <= NEW_WITHIN_S;
}

/**
 * The move of an allowed group, or of the operators' chat, to a supergroup; `undefined` for other updates. Telegram announces
 * the move in the old chat and in the new one. Either announcement counts, since only the one in the new chat certainly comes
 * before the other messages there. Pure, never throws.
 */
export function moveOf(update: unknown, gate: Gate): GroupMove | undefined {
  const { message }: Unchecked<Update> = isFields(update) ? update : {};
  if (!isFields(message) || !isFields(message.chat)) return undefined;
  const { id } = message.chat;
  const { migrate_to_chat_id: next, migrate_from_chat_id: former }: Unchecked<Message> = message;
  const [from, to] = former === undefined ? [id, next] : [former, id];
  const isOurs = isInteger(from) && (isOpen(gate, from, from, false) || gate.desk?.chatId === from);
  return isOurs && isInteger(to) ? { from, to } : undefined;
}

/**
 * Whether the bot is in an allowed chat after a change of its membership; `undefined` for other updates. Pure, never throws.
 */
export function presenceOf(update: unknown, gate: Gate): Presence | undefined {
  const { my_chat_member: member }: Unchecked<Update> = isFields(update) ? update : {};
  if (!isFields(member) || !isFields(member.chat) || !isFields(member.new_chat_member)) return undefined;
  const { chat, date }: Unchecked<ChatMemberUpdated> = member;
  const { id: chatId, type }: Unchecked<Chat> = chat as object;
  const { status }: Unchecked<ChatMember> = member.new_chat_member;
  if (!isInteger(chatId) || !isInteger(date)) return undefined;
  if (!isOpen(gate, chatId, chatId, chatType(type) === 'private')) return undefined;
  return { chatId, isGone: status === 'kicked' || status === 'left', atMs: date * 1000 };
}

/** The group in which somebody wrote or edited a message, or pressed a button; `undefined` for other updates. Never throws. */
export function groupIn(update: unknown): number | undefined {
  const { message, edited_message: edited, callback_query: press }: Unchecked<Update> = isFields(update) ? update : {};
  const place = message ?? edited ?? (isFields(press) ? press.message : undefined);
  const id = isFields(place) && isFields(place.chat) ? place.chat.id : undefined;
  return isInteger(id) && id < 0 ? id : undefined;
}

/**
 * The ids of the chats in whose order an update must be stored: the chat that the update names and, for a summons or an update
 * without a chat, the sender's private chat. Pure, never throws.
 */
export function chatsIn(update: unknown): number[] {
  const parts = isFields(update) ? Object.entries(update).filter(([, part]) => isFields(part)) : [];
  return parts.flatMap(([kind, part]) => {
    const { chat, from, message } = part as { chat?: unknown; from?: unknown; message?: unknown };
    const place = chat ?? (isFields(message) ? message.chat : undefined);
    const owners = place === undefined || kind === 'guest_message' ? [place, from] : [place];
    return owners.flatMap((each) => (isFields(each) && isInteger(each.id) ? [each.id] : []));
  });
}

/** The press of a button under a message of the bot, unchecked. Telegram omits the content of an old message. */
type RawPress = Omit<Unchecked<CallbackQuery>, 'from' | 'message'> & {
  from?: RawMessage['from'];
  message?: RawMessage | null;
};

/** The id with which to answer the press of a button; `undefined` for other updates. */
export function pressIdOf(update: unknown): string | undefined {
  const { callback_query: press } = (update ?? {}) as RawUpdate;
  return typeof press?.id === 'string' ? press.id : undefined;
}

/**
 * Reads the press of a button as a message with the button's command, from the person who pressed the button, so that the
 * stream stores and orders the press like any message. Rejects data without a command, because a modified Telegram app can send
 * anything. Pure, never throws.
 */
export function readPress(update: unknown, gate: Gate, nowMs: number): UpdateReading {
  const { update_id: updateId, callback_query: press } = (update ?? {}) as RawUpdate;
  const { from, message, data } = press ?? {};
  const chat = message?.chat;
  if (!isInteger(updateId) || !isInteger(from?.id) || !isInteger(chat?.id) || !isInteger(message?.message_id))
    return { accept: false, reason: 'malformed' };
  const isPrivate = chatType(chat.type) === 'private';
  if (!isOpen(gate, from.id, chat.id, isPrivate)) return { accept: false, reason: 'not_allowed' };
  if (typeof data !== 'string' || commandOf(data) === undefined) return { accept: false, reason: 'malformed' };
  const command: InboundMessage = {
    v: 1,
    updateId,
    ...placeOf(message, chat.id),
    messageId: message.message_id,
    from: personOf(from, from.id, !isPrivate && isGuest(gate, from.id, chat.id, {})),
    sentAtMs: nowMs,
    pressed: message.message_id,
    content: { kind: 'text', text: data },
  };
  return { accept: true, message: command };
}

/** The press of the stop button of a draft, unchecked. Telegram states neither who pressed the button nor when. */
type RawStop = Omit<Unchecked<MessageGenerationStopped>, 'chat'> & { chat?: Unchecked<Chat> };

/** An update, unchecked. */
export type RawUpdate = Omit<Unchecked<Update>, 'message' | 'callback_query' | 'stopped_message_generation'> & {
  message?: RawMessage;
  callback_query?: RawPress | null;
  stopped_message_generation?: RawStop | null;
};

/** Whether an update is the press of a draft's stop button. */
export function isStop(update: unknown): boolean {
  return typeof update === 'object' && update !== null && 'stopped_message_generation' in update;
}

/**
 * Reads a press of the stop button as the message `/stop` in the chat and topic of the draft, so that the stream stores and
 * orders the press like any message. Only private chats have drafts, so the chat's id is the person's. Pure, never throws.
 */
export function readStop(update: unknown, gate: Gate, nowMs: number): UpdateReading {
  const { update_id: updateId, stopped_message_generation: stop } = update as RawUpdate;
  const chatId = stop?.chat?.id;
  const draftId = stop?.draft_id;
  if (!isInteger(updateId) || !isInteger(chatId) || !isInteger(draftId)) return { accept: false, reason: 'malformed' };
  if (!isOpen(gate, chatId, chatId, true)) return { accept: false, reason: 'not_allowed' };
  const topicId = stop?.message_thread_id;
  const message: InboundMessage = {
    v: 1,
    updateId,
    chatId,
    ...(isInteger(topicId) && topicId > 0 && { topicId }),
    chatType: 'private',
    messageId: draftId,
    from: { id: chatId },
    sentAtMs: nowMs,
    content: { kind: 'text', text: '/stop' },
  };
  return { accept: true, message };
}
