import { clip } from '../../shared/base/text.ts';
import type { DueReminder, Waiting } from '../../shared/flow/message.ts';
import type { Inline } from '../../shared/flow/reply.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { lineOf } from '../command/reminders.ts';
import type { Env } from '../env.ts';
import { timeZoneOf } from '../lane/settings.ts';
import { dueSince } from '../reminders/schedule.ts';
import { wallOf, wallText } from '../reminders/wall-time.ts';

/** Changes by the model that stay, each on a line, with the command that undoes it. */
export interface Undoable {
  /** The line above them. */
  title: string;
  lines: readonly (readonly Inline[])[];
  commands: readonly string[];
}

/**
 * The reminders that the model set, and those that it cancelled, while it worked on some messages: a page or a tool's result
 * may have talked it into either. Contract: rejects when Redis cannot be reached.
 */
export async function changedReminders(turn: Turn<Env>, entries: readonly EntryId[]): Promise<Undoable[]> {
  const { settings, reminders } = turn.env;
  const { home, texts } = turn;
  const zone = timeZoneOf(turn, settings);
  const set = (await reminders.of(home)).filter(
    ({ reminder: { setIn } }) => setIn !== undefined && entries.includes(setIn),
  );
  const cancelled = (await reminders.cancelled(home)).filter(({ cancelledIn }) => entries.includes(cancelledIn));
  return [
    {
      title: texts.reminders.setForLater,
      lines: set.map((each) => lineOf(texts, each, zone)),
      commands: set.map(({ reminder: { id } }) => `/reminders cancel ${id}`),
    },
    {
      title: texts.reminders.cancelledByModel,
      lines: cancelled.map((each) => lineOf(texts, each, zone)),
      commands: cancelled.map(({ reminder: { id } }) => `/reminders restore ${id}`),
    },
  ];
}

/** A reminder that waited longer is late: a notice says when it was due, and reminders behind it join its answer. */
const LATE_MS = 60_000;
const LINE_CHARS_MAX = 80;
/** The field of a turn with the reminders that were taken out of the lane and are answered with it. */
const TAKEN = 'remindersTaken';

/** Whether an attempt is at a reminder that comes late, e.g. since its chat was paused. */
export function isLateReminder(turn: Turn): boolean {
  const [own] = remindersOf(turn);
  return own !== undefined && (own.isLate === true || turn.nowMs() - own.dueAtMs > LATE_MS);
}

/** Keeps the reminders that an attempt takes out of its lane. */
export function keepReminders(turn: Turn, pieces: readonly Waiting[]): Change[] {
  const taken = pieces.map(({ message }) => message.content).filter((content) => content.kind === 'reminder');
  return taken.length === 0 ? [] : [turn.keepContent(TAKEN, JSON.stringify(taken))];
}

/** An attempt at a late reminder, or at several, with the notice that says when each was due; any other attempt as it is. */
export function withLateness(turn: Turn<Env>): Turn<Env> {
  if (!turn.message.ok || turn.message.value.content.kind !== 'reminder') return turn;
  if (!isLateReminder(turn)) return turn;
  const { texts, notices } = turn;
  const late = remindersOf(turn);
  const zone = timeZoneOf(turn, turn.env.settings);
  const times = late.map(({ repeats, dueAtMs }) => {
    const since = repeats && dueSince(repeats, dueAtMs, turn.nowMs());
    return texts.reminders.dueAt(wallText(wallOf(dueAtMs, zone)), since?.times ?? 0);
  });
  const lines = late.map(({ text }, at) => `${times[at]}: ${clip(text, LINE_CHARS_MAX)}`);
  const notice =
    late.length === 1 ? texts.reminders.late(times[0] ?? '') : texts.reminders.lateTogether(lines.join('\n'));
  // An earlier attempt may have stored it.
  return notices.includes(notice) ? turn : turn.with({ notices: [notice, ...notices] });
}

/**
 * The texts of the reminders as notices, for a message that ends without an answer: people get their reminders even if the
 * model is away or something else was stopped. None if the chat was erased.
 */
export function inItsOwnWords(turn: Turn, { outcome, reason }: Conclusion): string[] {
  if (outcome === 'cancelled' && reason === 'forget') return [];
  return remindersOf(turn).map(({ text }) => turn.texts.reminders.plain(text));
}

/** The notice to a user whose message waits for long: a reminder does not wait for the model. */
export function waitingNotice(turn: Turn): string {
  const reminders = remindersOf(turn).map(({ text }) => text);
  return reminders.length === 0 ? turn.texts.waiting : turn.texts.reminders.waiting(reminders.join('\n\n'));
}

/**
 * Ends repeats whose chat was gone at two due times in a row: each further time would be a call of the model, and an alert.
 */
export async function endingOwnRepeat(turn: Turn<Env>): Promise<Change[]> {
  const { reminders } = turn.env;
  const due = remindersOf(turn);
  if (due.length === 0) return [];
  const coming = await reminders.of(turn.home);
  return due.flatMap(({ id, dueAtMs }) =>
    reminders.chatGone(
      coming.filter(({ reminder }) => reminder.id === id),
      dueAtMs,
    ),
  );
}

/** The reminder that the message is, and those that are answered with it. */
function remindersOf(turn: Turn): DueReminder[] {
  const { message } = turn;
  if (!message.ok || message.value.content.kind !== 'reminder') return [];
  const taken = turn.content(TAKEN);
  return [message.value.content, ...(taken === undefined ? [] : (JSON.parse(taken) as DueReminder[]))];
}
