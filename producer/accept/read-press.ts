import type { InboundMessage } from '../../shared/flow/message.ts';
import { commandOf } from '../../shared/telegram/commands.ts';
import { type Gate, isGuest, isOpen } from './gate.ts';
import { isInteger, type RawMessage } from './raw-message.ts';
import { chatType, personOf, placeOf, type UpdateReading } from './read-update.ts';

/** What Telegram delivers when somebody presses a button under a message of ours. */
interface RawPress {
  id?: unknown;
  from?: RawMessage['from'];
  /** The message with the button; without its content when it is old. */
  message?: RawMessage | null;
  data?: unknown;
}

/** The id of a press, for its answer; `undefined` where an update is none. */
export function pressIdOf(update: unknown): string | undefined {
  const { callback_query: press } = (update ?? {}) as { callback_query?: RawPress | null };
  return typeof press?.id === 'string' ? press.id : undefined;
}

/**
 * Reads the press of a button as the command that it names, given by whoever pressed, so that it is as durable and as
 * orderly as any message. What names no command is refused: a changed app can send any data. Pure, never throws.
 */
export function readPress(update: unknown, gate: Gate, nowMs: number): UpdateReading {
  const { update_id: updateId, callback_query: press } = (update ?? {}) as {
    update_id?: unknown;
    callback_query?: RawPress | null;
  };
  const { from, message, data } = press ?? {};
  const chat = message?.chat;
  if (!isInteger(updateId) || !isInteger(from?.id) || !isInteger(chat?.id) || !isInteger(message?.message_id))
    return { accept: false, reason: 'malformed' };
  const isPrivate = chatType(chat.type) === 'private';
  if (!isOpen(gate, from.id, chat.id, isPrivate)) return { accept: false, reason: 'not_allowed' };
  if (typeof data !== 'string' || commandOf(data) === undefined) return { accept: false, reason: 'malformed' };
  const read: InboundMessage = {
    v: 1,
    updateId,
    ...placeOf(message, chat.id),
    messageId: message.message_id,
    from: personOf(from, from.id, !isPrivate && isGuest(gate, from.id, chat.id, {})),
    sentAtMs: nowMs,
    pressed: message.message_id,
    content: { kind: 'text', text: data },
  };
  return { accept: true, message: read };
}

/** What Telegram delivers when somebody presses the stop button of a draft. It has no sender and no time. */
interface RawStop {
  chat?: { id?: unknown };
  message_thread_id?: unknown;
  draft_id?: unknown;
}

/** Whether an update is the press of a draft's stop button. */
export function isStop(update: unknown): boolean {
  return typeof update === 'object' && update !== null && 'stopped_message_generation' in update;
}

/**
 * Reads a press of the stop button as the message `/stop` of that chat and topic, so that it is as durable and as
 * orderly as any message. Drafts are shown in private chats alone, where the chat is the person. Pure, never throws.
 */
export function readStop(update: unknown, gate: Gate, nowMs: number): UpdateReading {
  const { update_id: updateId, stopped_message_generation: stop } = update as {
    update_id?: unknown;
    stopped_message_generation?: RawStop | null;
  };
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
