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
