import { clip } from '../../../shared/base/text.ts';
import { encodeMessage, type InboundMessage } from '../../../shared/flow/message.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import type { Reminder } from '../../../shared/state/reminder/book.ts';
import { nextDueMs } from './schedule.ts';

/**
 * A reminder that becomes a message: the message, as text, and when it comes again. No message where a later version has
 * set it: then it is put off until that version looks.
 */
export interface Entering {
  message: string;
  nextMs: number | undefined;
}

/** What a reminder enters the flow with. */
export interface EnteringFacts {
  dueAtMs: number;
  nowMs: number;
  /** The least time between two times of a repeat. */
  minutesMin: number;
  /** Whether somebody is on the allow list now. */
  isListed: (id: number) => boolean;
}

/** The account by which Telegram lets admins write in the name of their group, which is on the list. */
const ANONYMOUS_ADMIN = 1_087_968_824;
/** Absent in what this version sets. */
const VERSION = 1;
const NEWER_WAIT_MS = 60_000;
const ANSWERING_CHARS_MAX = 200;
const MINUTE_MS = 60_000;
/** Between its time and its message lies a look at what is due; more than this is worth a word. */
const LATE_MS = 60_000;

/** Which message a reminder is set for: its words, where it was written, and by whom. Pure. */
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
 * Makes a message of a stored reminder that is due; a repeat comes again after `minutesMin` or more, whatever was allowed
 * when it was set, and with the rights that whoever set it has now. One that cannot be read becomes a message that cannot be read either: then its chat and the operator
 * are notified of it like of any other. Pure, never throws.
 */
export function entering(stored: string, { dueAtMs, nowMs, minutesMin, isListed }: EnteringFacts): Entering {
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
