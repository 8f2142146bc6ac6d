/** What people do, as updates of the bot, and what of it reaches the bot. */
import { chatBody, messageBody, quotedBody } from './bodies.ts';
import type { Body, Chat, Chats, ChatType, Membership } from './chats.ts';
import type { Entity } from './entities.ts';
import type { Desk } from './server.ts';

/** How a user's message differs from a plain one. */
export interface SayOptions {
  /** The sender. Default: the chat's id, or 1 in a group. */
  fromId?: number;
  topicId?: number;
  chatType?: ChatType;
  firstName?: string;
  username?: string;
  /** What the sender's app speaks. Default: en. */
  languageCode?: string;
  /** Default: the chat's next. */
  messageId?: number;
  /** The id of the message that this one answers. */
  replyTo?: number;
  /** Seconds since the epoch. Default: now. */
  date?: number;
  /** Further fields of the message, such as `photo`, `caption`, `media_group_id`, or what inbound-kinds.ts builds. */
  extra?: Body;
}

/** The bot, and whether it hides behind privacy mode. */
type Reader = Pick<Desk, 'bot' | 'hasPrivacy'>;

const now = (): number => Math.floor(Date.now() / 1000);

/** A user's message as an update, undefined where it does not reach the bot. Makes its chat and topic known. */
export function userMessage(chats: Chats, chatId: number, text: string, options: SayOptions, reader: Reader) {
  const {
    fromId,
    firstName,
    username,
    languageCode = 'en',
    messageId,
    date = now(),
    topicId,
    replyTo,
    extra,
  } = options;
  const chat = chats.open(chatId, options.chatType, firstName);
  if (topicId !== undefined) {
    chat.isForum = chat.type === 'supergroup';
    chat.topics.add(topicId);
  }
  const content: Body = { ...(text !== '' && { text }), ...extra };
  const message: Body = {
    message_id: chats.nextMessageId(chat, messageId),
    from: {
      ...userBody(fromId ?? (chat.id > 0 ? chat.id : 1), firstName),
      ...(username !== undefined && { username }),
      language_code: languageCode,
    },
    chat: chatBody(chat),
    date,
    ...(topicId !== undefined && { message_thread_id: topicId, is_topic_message: true }),
    ...(replyTo !== undefined && { reply_to_message: quotedBody(chat, replyTo, reader.bot) }),
    ...content,
    ...markedField(content),
  };
  return said(chat, message, reader) ? { message } : undefined;
}

/** The update for an edit of a user's message, undefined where it does not reach the bot. Throws where nobody wrote that. */
export function editedMessage(chat: Chat, messageId: number, text: string, extra: Body, reader: Reader) {
  const before = chat.others.get(messageId);
  if (before === undefined) throw new Error(`Nobody wrote message ${messageId} of chat ${chat.id}, so it has no edit.`);
  const { text: _text, entities: _entities, caption_entities: _marks, ...rest } = before;
  const content: Body = { ...rest, ...(text !== '' && { text }), ...extra };
  const edited_message = { ...content, edit_date: now(), ...markedField(content) };
  return said(chat, edited_message, reader) ? { edited_message } : undefined;
}

/** Notes what somebody has said. Returns whether the bot gets it. */
function said(chat: Chat, message: Body, reader: Reader): boolean {
  chat.others.set(Number(message.message_id), message);
  const isHeard = reaches(message, chat, reader);
  chat.history.push({ kind: 'said', at: Date.now(), message, isHeard });
  return isHeard;
}

/** A person. */
export function userBody(id: number, firstName = `User ${id}`): Body {
  return { id, is_bot: false, first_name: firstName };
}

const MARKS = { bot_command: /(?<![\w/<>])\/\w{1,64}(?:@\w{3,32})?(?![\w/<>])/g, mention: /(?<!\w)@\w{4,32}(?!\w)/g };

/** The field that holds the entities of a message: those that a test gives, and the commands and mentions elsewhere. */
function markedField(message: Body): Body {
  const name = message.text === undefined ? 'caption_entities' : 'entities';
  const words = String(message.text ?? message.caption ?? '');
  const given = (message[name] ?? []) as Entity[];
  const isFree = (mark: Entity) =>
    !given.some((other) => mark.offset < other.offset + other.length && other.offset < mark.offset + mark.length);
  const found = Object.entries(MARKS).flatMap(([type, pattern]) =>
    [...words.matchAll(pattern)].map(({ 0: match, index }) => ({ type, offset: index, length: match.length })),
  );
  const all = [...given, ...found.filter(isFree)].sort((a, b) => a.offset - b.offset);
  return all.length === 0 ? {} : { [name]: all };
}

/** A message with one of these says what happened in a chat; every bot in it gets that. */
const SERVICE = ['new_chat_members', 'left_chat_member', 'new_chat_title', 'migrate_to_chat_id', 'pinned_message'];

/**
 * Whether a message reaches the bot. In privacy mode a group's do only when they are a command that is not for another
 * bot, an answer to what the bot said, or news of the chat. A mention is not enough. An administrator gets all.
 */
function reaches(message: Body, { type, membership }: Chat, { bot, hasPrivacy }: Reader): boolean {
  if (membership === 'left' || membership === 'kicked') return false;
  if (type === 'private' || !hasPrivacy || membership === 'administrator') return true;
  const answered = message.reply_to_message as { from?: { id?: unknown } } | undefined;
  if (answered?.from?.id === bot.id || SERVICE.some((field) => message[field] !== undefined)) return true;
  const [, to] = /^\/\w+(?:@(\w+)|(?!\w))/.exec(String(message.text ?? message.caption)) ?? [bot.username, ''];
  return (to ?? bot.username).toLowerCase() === bot.username;
}

/** A press of a button, and the id of its query. Throws where nobody could press it. */
export function press(desk: Desk, chat: Chat, messageId: number, data: string, fromId: number) {
  const message = chat.shown.get(messageId);
  const button = message?.replyMarkup?.inline_keyboard.flat().find(({ callback_data }) => callback_data === data);
  if (message === undefined || button === undefined) {
    throw new Error(`Message ${messageId} of chat ${chat.id} has no button with the data ${JSON.stringify(data)}.`);
  }
  chat.history.push({ kind: 'pressed', at: Date.now(), label: button.text });
  const queryId = desk.presses.open(chat.id);
  // Who has written in the chat before has the same name now.
  const senders = [...chat.others.values()].map(({ from }) => from as { id?: unknown } | undefined);
  const lastSeen = senders.findLast((from) => from?.id === fromId);
  const callback_query = {
    id: queryId,
    from: { ...userBody(fromId), language_code: 'en', ...lastSeen },
    message: messageBody({ chat, message }, desk.bot),
    chat_instance: String(-chat.id),
    data,
  };
  return { queryId, update: { callback_query } };
}

/** The update for a change of what the bot is in a chat; makes the change. */
export function changeMembership({ bot }: Desk, chat: Chat, membership: Membership, fromId: number): object {
  const member = (status: Membership) => ({ user: bot, status });
  const [old_chat_member, new_chat_member] = [member(chat.membership), member(membership)];
  chat.membership = membership;
  const from = userBody(fromId);
  return { my_chat_member: { chat: chatBody(chat), from, date: now(), old_chat_member, new_chat_member } };
}

/** A service message of a group. */
export function serviceMessage({ chats }: Desk, chat: Chat, what: object): object {
  return {
    message: { message_id: chats.nextMessageId(chat), from: userBody(1), chat: chatBody(chat), date: now(), ...what },
  };
}

/** The press of "stop" on a draft; undefined where there is no such button. */
export function stopDraft({ drafts }: Desk, chat: Chat, topicId: number | undefined): object | undefined {
  const stopped = drafts.stop(chat.id, topicId);
  if (stopped === undefined) return undefined;
  chat.history.push({ kind: 'pressed', at: Date.now(), label: 'Stop' });
  const place = { chat: chatBody(chat), ...(topicId !== undefined && { message_thread_id: topicId }) };
  return { stopped_message_generation: { ...place, draft_id: stopped.draftId } };
}
