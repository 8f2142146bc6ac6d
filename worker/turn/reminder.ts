import type { DueReminder } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { lineOf } from '../command/reminders.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { type Settings, timeZoneOf } from '../lane/settings.ts';
import { wallOf, wallText } from '../reminders/wall-time.ts';
import type { Inline } from '../reply/format/tree.ts';
import type { TurnPorts } from './ports.ts';

/** More are only counted; `/reminders` lists all. */
const NAMED_MAX = 10;

/** What the model did that stays, each on a line, with the command that undoes it. */
export interface Undoable {
  lines: readonly (readonly Inline[])[];
  commands: readonly string[];
  /** The words around the lines, which stand there in the place of what is given. */
  said: (lines: string) => string;
}

/**
 * The reminders that the model has set while it worked on some messages: a page or a tool's result may have talked it into
 * them. Contract: rejects when Redis cannot be reached.
 */
export async function setForLater(
  { ask: { settings }, commands: { reminders } }: TurnPorts,
  attempt: Attempt,
  entries: readonly EntryId[],
): Promise<Undoable> {
  const set = (await reminders.of(attempt.home)).filter(
    ({ reminder: { setIn } }) => setIn !== undefined && entries.includes(setIn),
  );
  const zone = timeZoneOf(attempt, settings);
  const named = set.slice(0, NAMED_MAX);
  return {
    lines: named.map((each) => lineOf(attempt.texts, each, zone)),
    commands: named.map(({ reminder: { id } }) => `/reminders cancel ${id}`),
    said: (lines) => attempt.texts.reminders.setForLater(lines, set.length - named.length),
  };
}

/** An attempt at a reminder that comes late, with the notice that says so; any other attempt as it is. */
export function withLateness(attempt: Attempt, settings: Pick<Settings, 'timeZone'>): Attempt {
  const reminder = reminderIn(attempt);
  if (reminder?.isLate === undefined) return attempt;
  const late = attempt.texts.reminders.late(wallText(wallOf(reminder.dueAtMs, timeZoneOf(attempt, settings))));
  // A recovery may have stored it with notices of its own.
  return attempt.notices.includes(late) ? attempt : { ...attempt, notices: [late, ...attempt.notices] };
}

/**
 * The words of a reminder itself where no answer says them: nobody may miss it because the model is away, or because
 * something else was stopped. Whoever had all of the chat erased wants none of it.
 */
export function inItsOwnWords(attempt: Attempt, { outcome, reason }: Conclusion): string[] {
  const reminder = reminderIn(attempt);
  if (reminder === undefined || (outcome === 'cancelled' && reason === 'forget')) return [];
  return [attempt.texts.reminders.plain(reminder.text)];
}

/** The notice to a user whose message waits for long: a reminder does not wait for the model. */
export function waitingNotice(attempt: Attempt): string {
  const reminder = reminderIn(attempt);
  return reminder === undefined ? attempt.texts.waiting : attempt.texts.reminders.waiting(reminder.text);
}

/**
 * A repeat does not come again where its chat was gone at two due times in a row: each time would be a call of the model,
 * and an alert.
 */
export async function endingOwnRepeat({ commands: { reminders } }: TurnPorts, attempt: Attempt): Promise<Change[]> {
  const own = reminderIn(attempt);
  if (own === undefined) return [];
  const coming = await reminders.of(attempt.home);
  return reminders.chatGone(
    coming.filter(({ reminder }) => reminder.id === own.id),
    own.dueAtMs,
  );
}

function reminderIn({ message }: Attempt): DueReminder | undefined {
  return message.ok && message.value.content.kind === 'reminder' ? message.value.content : undefined;
}
