import type { DueReminder } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { lineOf } from '../command/reminders.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { type Settings, timeZoneOf } from '../lane/settings.ts';
import { wallOf, wallText } from '../reminders/wall-time.ts';
import type { Inline } from '../reply/format/tree.ts';
import type { TurnPorts } from './ports.ts';

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
export async function changedReminders(
  { ask: { settings }, commands: { reminders } }: TurnPorts,
  attempt: Attempt,
  entries: readonly EntryId[],
): Promise<Undoable[]> {
  const { home, texts } = attempt;
  const zone = timeZoneOf(attempt, settings);
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
