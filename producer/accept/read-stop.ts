import type { InboundMessage } from '../../shared/flow/message.ts';
import { type Gate, isOpen } from './gate.ts';
import { isInteger } from './raw-message.ts';
import type { UpdateReading } from './read-update.ts';

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
