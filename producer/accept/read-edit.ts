import { isFields } from '../../shared/base/fields.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Gate } from './gate.ts';
import { isInteger, type RawMessage } from './raw-message.ts';
import { type IgnoreReason, readUpdate } from './read-update.ts';

/** A message as it reads now, or why its edit is ignored. */
export type EditReading =
  | { accept: false; reason: IgnoreReason }
  | {
      accept: true;
      message: InboundMessage;
      /** Whether it becomes a message of its own where it was never accepted: now it addresses us. */
      mayBeNew: boolean;
    };

/**
 * Telegram reports changes of what a bot cannot see for ever. Whoever addresses the bot by an edit does it soon, and
 * far sooner than we forget what was accepted.
 */
const NEW_WITHIN_S = 3_600;

/** Whether an update is an edit of a message. */
export function isEdit(update: unknown): boolean {
  return isFields(update) && 'edited_message' in update;
}

/**
 * Reads an edit as the message that it makes. In a private chat every message was accepted when it was written, so only
 * in a group one can become ours later. Pure, never throws.
 */
export function readEdit(update: unknown, gate: Gate, textMaxChars: number): EditReading {
  const { update_id, edited_message: edited } = update as Record<string, unknown>;
  const reading = readUpdate({ update_id, message: edited }, gate, textMaxChars);
  if (!reading.accept && reading.reason !== 'not_addressed') return reading;
  const { message } = reading;
  const mayBeNew = reading.accept && message.chatType !== 'private' && isSoon(edited as RawMessage);
  return { accept: true, message, mayBeNew };
}

function isSoon({ date, edit_date: editDate }: RawMessage): boolean {
  return isInteger(date) && isInteger(editDate) && editDate - date <= NEW_WITHIN_S;
}
