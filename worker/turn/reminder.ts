import type { DueReminder } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import { lineOf } from '../command/reminders.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { type Settings, timeZoneOf } from '../lane/settings.ts';
import type { Ending } from '../lane/verdict.ts';
import { wallOf, wallText } from '../reminders/wall-time.ts';
import type { TurnPorts } from './ports.ts';

/** More are only counted; `/reminders` lists all. */
const NAMED_MAX = 10;

/**
 * A conclusion that also names what the model has set for later while it worked on the message, each with a button that
 * undoes it: a page or a tool's result may have talked the model into it. Contract: rejects when Redis cannot be reached.
 */
export async function withSetForLater(
  { ask: { settings }, commands: { reminders } }: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  { calledNothing }: Pick<Ending, 'calledNothing'>,
): Promise<Conclusion> {
  const isIdle = calledNothing && attempt.turn.company.answersWith.length === 0;
  if (isIdle || conclusion.outcome === 'command' || conclusion.outcome === 'merged') return conclusion;
  // Then all of it is erased.
  if (conclusion.reason === 'forget') return conclusion;
  const set = (await reminders.of(attempt.home)).filter(
    ({ reminder: { setIn } }) => setIn !== undefined && entriesOf(attempt).includes(setIn),
  );
  if (set.length === 0) return conclusion;
  const { reminders: text } = attempt.texts;
  const named = set.slice(0, NAMED_MAX);
  const zone = timeZoneOf(attempt, settings);
  const lines = named.map((each, at) => `${at + 1}. ${lineOf(attempt.texts, each, zone)}`);
  const said = text.setForLater(lines.join('\n'), zone, set.length - named.length);
  const undo = named.map(({ reminder: { id } }, at) => [
    { text: text.undoButton(at + 1), command: `/reminders cancel ${id}` },
  ]);
  return { ...withPart(conclusion, said), buttons: [...(conclusion.buttons ?? []), ...undo] };
}

/** The commands by which the message that this one is answered together with names what was set for this one as well. */
export function handingOn(attempt: Attempt, into: EntryId): Change[] {
  if (attempt.rounds === 0 && attempt.turn.company.answersWith.length === 0) return [];
  return [turnOf(attempt.keys, into).company.answerWith(entriesOf(attempt))];
}

/** The message, and those that are answered together with it. */
function entriesOf(attempt: Attempt): EntryId[] {
  return [attempt.entry, ...attempt.turn.company.answersWith];
}

/** A plain text more, behind all that is no file: buttons stand under it. */
function withPart({ parts, layout, ...conclusion }: Conclusion, text: string): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const laid = layout && { layout: layout.toSpliced(at, 0, null) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, text), ...laid };
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
