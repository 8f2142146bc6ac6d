import type { DueReminder } from '../../shared/flow/message.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import { timeZoneOf } from '../lane/time-zone.ts';
import { wallOf, wallText } from '../reminders/wall-time.ts';
import type { TurnPorts } from './turn.ts';

/** An attempt at a reminder that comes late, with the notice that says so; any other attempt as it is. */
export function withLateness(attempt: Attempt, settings: Pick<Settings, 'timeZone'>): Attempt {
  const reminder = reminderIn(attempt);
  if (reminder?.isLate === undefined) return attempt;
  const late = attempt.texts.reminders.late(wallText(wallOf(reminder.dueAtMs, timeZoneOf(attempt, settings))));
  // A recovery may have stored it with notices of its own.
  return attempt.notices.includes(late) ? attempt : { ...attempt, notices: [late, ...attempt.notices] };
}

/**
 * What a reminder says by itself where no answer says it: nobody may miss it because the model is away, or because
 * something else was stopped. Whoever had all of the chat erased wants none of it.
 */
export function inItsOwnWords(attempt: Attempt, { outcome, reason }: Conclusion): string[] {
  const reminder = reminderIn(attempt);
  if (reminder === undefined || (outcome === 'cancelled' && reason === 'forget')) return [];
  return [attempt.texts.reminders.plain(reminder.text)];
}

/** What a user is told whose message waits for long: a reminder does not wait for the model. */
export function waitingNotice(attempt: Attempt): string {
  const reminder = reminderIn(attempt);
  return reminder === undefined ? attempt.texts.waiting : attempt.texts.reminders.waiting(reminder.text);
}

/** A reminder whose chat is gone does not come again: each time would be a call of the model, and an alert. */
export async function endingOwnRepeat({ commands: { reminders } }: TurnPorts, attempt: Attempt): Promise<Change[]> {
  const own = reminderIn(attempt);
  if (own === undefined) return [];
  const coming = await reminders.of(attempt.home);
  return reminders.cancelling(coming.filter(({ reminder }) => reminder.id === own.id));
}

function reminderIn({ message }: Attempt): DueReminder | undefined {
  return message.ok && message.value.content.kind === 'reminder' ? message.value.content : undefined;
}
