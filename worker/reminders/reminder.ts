import { encodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import { nextDueMs, type Schedule } from './schedule.ts';

/** A reminder that somebody has set. Plain JSON. */
export interface Reminder extends Schedule {
  readonly id: string;
  /** What to say or do. */
  readonly text: string;
  /** Where it was asked for, and by whom. */
  readonly asked: Asked;
}

export type Asked = Pick<InboundMessage, 'chatId' | 'topicId' | 'chatType' | 'chatTitle' | 'messageId' | 'from'>;

/** A reminder that becomes a message: the message, as text, and when it comes again. */
export interface Entering {
  message: string;
  nextMs: number | undefined;
}

/** Between its time and its message lies a look at what is due; more than this is worth a word. */
const LATE_MS = 60_000;

/** Where a message was written, and by whom, for a reminder that it asks for. Pure. */
export function askedIn(message: InboundMessage): Asked {
  const { chatId, topicId, chatType, chatTitle, messageId, from } = message;
  return {
    chatId,
    ...(topicId !== undefined && { topicId }),
    chatType,
    ...(chatTitle !== undefined && { chatTitle }),
    messageId,
    from,
  };
}

/**
 * Makes a message of a stored reminder that is due. One that cannot be read becomes a message that cannot be read
 * either: then its chat and the operator are notified of it like of any other. Pure, never throws.
 */
export function entering(stored: string, dueAtMs: number, nowMs: number): Entering {
  try {
    const reminder = JSON.parse(stored) as Reminder;
    const nextMs = reminder.repeat && nextDueMs(reminder, nowMs);
    return { message: encodeMessage(messageOf(reminder, dueAtMs, nowMs)), nextMs };
  } catch {
    return { message: stored, nextMs: undefined };
  }
}

function messageOf({ id, text, asked }: Reminder, dueAtMs: number, nowMs: number): InboundMessage {
  const isLate = nowMs - dueAtMs > LATE_MS;
  const content = { kind: 'reminder', id, text, dueAtMs, ...(isLate && { isLate }) } as const;
  // No update brought it.
  return { v: 2, updateId: 0, ...asked, sentAtMs: nowMs, content };
}
