import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { lineOf } from '../command/reminders.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import { timeZoneOf } from '../lane/time-zone.ts';
import type { Concluding } from '../lane/verdict.ts';
import type { TurnPorts } from './turn.ts';

/** More are only counted; `/reminders` lists all. */
const NAMED_MAX = 10;
/** The turn's field for the messages before it that it is answered together with, after they had called tools. */
const SET_BEFORE = 'setBefore';

/**
 * A conclusion that also names what the model has set for later while it worked on the message, each with a button that
 * undoes it: a page or a tool's result may have talked the model into it. Contract: rejects when Redis cannot be reached.
 */
export async function withSetForLater(
  { ask: { settings }, commands: { reminders } }: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  { calledNothing }: Pick<Concluding, 'calledNothing'>,
): Promise<Conclusion> {
  const isIdle = calledNothing && attempt.field(SET_BEFORE) === undefined;
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
  if (attempt.rounds === 0 && attempt.field(SET_BEFORE) === undefined) return [];
  return [['HSET', attempt.keys.turn(into), SET_BEFORE, entriesOf(attempt).join(' ')]];
}

/** The message, and those that are answered together with it. */
function entriesOf(attempt: Attempt): EntryId[] {
  return [attempt.entry, ...((attempt.field(SET_BEFORE)?.split(' ') ?? []) as EntryId[])];
}

/** A plain text more, behind all that is no file: buttons stand under it. */
function withPart({ parts, layout, ...conclusion }: Conclusion, text: string): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const laid = layout && { layout: layout.toSpliced(at, 0, null) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, text), ...laid };
}
