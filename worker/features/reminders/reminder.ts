import { clip } from '../../../shared/base/text.ts';
import { encodeMessage, type InboundMessage } from '../../../shared/flow/message.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import type { Reminder } from '../../../shared/state/reminder/book.ts';
import { nextDueMs } from './schedule.ts';

/**
 * The message of a due reminder, as text, and the time of its next repeat. `message` is empty if a later version set
 * the reminder: it is then looked at again in a minute.
 */
interface DueMessage {
  message: string;
  nextMs: number | undefined;
}

/** When a reminder is due, and what bounds its message and its next repeat. */
interface DueFacts {
  dueAtMs: number;
  nowMs: number;
  /** The least time between two times of a repeat. */
  minutesMin: number;
  /** Whether somebody is on the allow list now. */
  isListed: (id: number) => boolean;
}

/** The account under which admins write in the name of their group; the group is on the list. */
const ANONYMOUS_ADMIN = 1_087_968_824;
/** The newest version that this one reads; its own reminders have no version. */
const VERSION = 1;
const NEWER_WAIT_MS = 60_000;
const ANSWERING_CHARS_MAX = 200;
const MINUTE_MS = 60_000;
/** A reminder that becomes a message later than this is late: due reminders are looked for at intervals. */
const LATE_MS = 60_000;

/** The message that a reminder is set for: its text, its chat and its author. Pure. */
export function setIn(entry: EntryId, message: InboundMessage): Pick<Reminder, 'asked' | 'setIn' | 'answering'> {
  const { chatId, topicId, chatType, chatTitle, messageId, from, content } = message;
  const words = 'text' in content ? (content.text ?? '') : '';
  const asked = {
    chatId,
    ...(topicId !== undefined && { topicId }),
    chatType,
    ...(chatTitle !== undefined && { chatTitle }),
    messageId,
    from,
  };
  return { asked, setIn: entry, ...(words !== '' && { answering: clip(words, ANSWERING_CHARS_MAX) }) };
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
