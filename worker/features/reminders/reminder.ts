import { clip } from '../../../shared/base/text.ts';
import { encodeMessage, type InboundMessage } from '../../../shared/flow/message.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import type { Reminder } from '../../../shared/state/reminder/book.ts';
import { nextDueMs } from './schedule.ts';

/**
 * The message of a due reminder, encoded, and the next due time, if any. `message` is empty if a newer version of Spillway set
 * the reminder; `nextMs` is then the time to read the reminder again, a minute from now.
 */
interface DueMessage {
  message: string;
  nextMs: number | undefined;
}

/** The due time of a reminder, and the facts on which its message and its next due time depend. */
interface DueFacts {
  dueAtMs: number;
  nowMs: number;
  /** The shortest interval between two due times of a repeat, in minutes. */
  minutesMin: number;
  /** Whether somebody is on the allow list now. */
  isListed: (id: number) => boolean;
}

/** Telegram's account for admins who write on behalf of their group. Such admins are not guests: their group is allowed. */
const ANONYMOUS_ADMIN = 1_087_968_824;
/** The newest version of the reminder format that this code reads. The code writes reminders without a version field. */
const VERSION = 1;
const NEWER_WAIT_MS = 60_000;
const ANSWERING_CHARS_MAX = 200;
const MINUTE_MS = 60_000;
/** A reminder is late if it becomes a message more than this long after its due time. Shorter delays are normal. */
const LATE_MS = 60_000;

/** The origin of a reminder: the entry, chat, author and beginning of the message that the model is answering. Pure. */
export function originOf(entry: EntryId, message: InboundMessage): Pick<Reminder, 'asked' | 'setIn' | 'answering'> {
  const { chatId, topicId, chatType, chatTitle, messageId, from, content } = message;
  const words = 'text' in content ? (content.text ?? '') : '';
  const topic = topicId === undefined ? {} : { topicId };
  const title = chatTitle === undefined ? {} : { chatTitle };
  return {
    asked: { chatId, ...topic, chatType, ...title, messageId, from },
    setIn: entry,
    ...(words !== '' && { answering: clip(words, ANSWERING_CHARS_MAX) }),
  };
}

/**
 * Turns a due reminder into a message. The next due time is at least `minutesMin` later, even if a shorter interval was allowed
 * when the reminder was set. The author's current rights decide whether the message counts as a guest's. An unreadable reminder
 * becomes an unreadable message, so that the chat and the operator are notified. Pure, never throws.
 */
export function messageFor(stored: string, { dueAtMs, nowMs, minutesMin, isListed }: DueFacts): DueMessage {
  try {
    const reminder = JSON.parse(stored) as Reminder & { v?: unknown };
    if (typeof reminder.v === 'number' && reminder.v > VERSION) return { message: '', nextMs: nowMs + NEWER_WAIT_MS };
    const afterMs = Math.max(nowMs, dueAtMs + minutesMin * MINUTE_MS - 1);
    const nextMs = reminder.repeat && nextDueMs(reminder, afterMs);
    const { from, chatType } = reminder.asked;
    const isGuest = chatType !== 'private' && from.id !== ANONYMOUS_ADMIN && !isListed(from.id);
    const message = messageOf(reminder, dueAtMs, nowMs);
    return { message: encodeMessage(isGuest ? { ...message, from: { ...from, isGuest } } : message), nextMs };
  } catch {
    return { message: stored, nextMs: undefined };
  }
}

function messageOf(reminder: Reminder, dueAtMs: number, nowMs: number): InboundMessage {
  const { id, text, asked, answering, firstMs, timeZone, repeat } = reminder;
  const isLate = nowMs - dueAtMs > LATE_MS;
  const repeats = repeat && { firstMs, timeZone, repeat };
  const about = {
    ...(answering !== undefined && { answering }),
    ...(isLate && { isLate }),
    ...(repeats && { repeats }),
  };
  const content = { kind: 'reminder', id, text, dueAtMs, ...about } as const;
  // No update from Telegram brought this message.
  return { v: 2, updateId: 0, ...asked, sentAtMs: nowMs, content };
}
