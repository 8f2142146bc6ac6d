import { isFields } from '../../shared/base/fields.ts';
import type { GroupMove } from '../../shared/state/message/inbox.ts';
import { type Gate, isOpen } from './gate.ts';
import { isInteger } from './raw-message.ts';

/** The move of a group that is open to us; nothing for other updates. Pure, never throws. */
export function moveOf(update: unknown, gate: Gate): GroupMove | undefined {
  const message = isFields(update) ? update.message : undefined;
  if (!isFields(message) || !isFields(message.chat)) return undefined;
  const { id: from } = message.chat;
  const { migrate_to_chat_id: to } = message;
  return isInteger(from) && isInteger(to) && isOpen(gate, from, from, false) ? { from, to } : undefined;
}

/** The group in which something was written, edited or pressed; nothing for other updates. Pure, never throws. */
export function groupIn(update: unknown): number | undefined {
  const { message, edited_message: edited, callback_query: press } = isFields(update) ? update : {};
  const place = message ?? edited ?? (isFields(press) ? press.message : undefined);
  const id = isFields(place) && isFields(place.chat) ? place.chat.id : undefined;
  return isInteger(id) && id < 0 ? id : undefined;
}
