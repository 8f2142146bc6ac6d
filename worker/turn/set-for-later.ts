import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import { lineOf } from '../command/reminders.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { timeZoneOf } from '../lane/time-zone.ts';
import type { Ending } from '../lane/verdict.ts';
import type { TurnPorts } from './turn.ts';

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
