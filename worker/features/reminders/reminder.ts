import { clip } from '../../../shared/base/text.ts';
import { encodeMessage, type InboundMessage } from '../../../shared/flow/message.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import type { Reminder } from '../../../shared/state/reminder/book.ts';
import { nextDueMs } from './schedule.ts';

/**
 * The message of a due reminder, as text, and its next due time. `message` is empty if a newer version of Spillway set the
 * reminder, which then stays due and is read again in a minute.
 */
interface DueMessage {
  message: string;
  nextMs: number | undefined;
}

/** The due time of a reminder, and the facts on which its message and its next due time depend. */
interface DueFacts {
  dueAtMs: number;
  nowMs: number;
  /** The least time between two times of a repeat. */
  minutesMin: number;
  /** Whether somebody is on the allow list now. */
  isListed: (id: number) => boolean;
}

/** Telegram's account for admins who write in the name of their group. The group itself is on the allow list. */
const ANONYMOUS_ADMIN = 1_087_968_824;
/** The newest version of reminders that this code reads. The reminders that it writes have no version field. */
const VERSION = 1;
const NEWER_WAIT_MS = 60_000;
const ANSWERING_CHARS_MAX = 200;
const MINUTE_MS = 60_000;
/** A reminder that becomes a message later than this is late. Shorter delays come from the interval between rounds. */
const LATE_MS = 60_000;

/** The message for which the model sets a reminder: its text, its chat and its author. Pure. */
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
 * Turns a due reminder into a message. The next repeat is `minutesMin` later or more, even if a shorter one was allowed
 * when the reminder was set. The author's current rights decide whether the message counts as a guest's. An unreadable
 * reminder becomes an unreadable message, so that the chat and the operator are notified. Pure, never throws.
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
  // No update brought it.
  return { v: 2, updateId: 0, ...asked, sentAtMs: nowMs, content };
}
