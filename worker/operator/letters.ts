import { bindReplay, type DeadLetter, type Replayed, removeLetter } from '../../shared/state/lane/dead-letters.ts';
import { type LetterFilter, lettersMeant } from '../../shared/state/lane/letter-list.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';

/** What became of one message, and the names of its letters: more than one where it was in pieces. */
export interface ReplayedMessage {
  letters: readonly string[];
  result: Replayed[0];
  /** Its new entry; empty where it was not put back. */
  entry: string;
}

/**
 * Puts one dead letter back at the end of its chat's lane, with all pieces of its message. Contract: rejects when Redis
 * cannot be reached. Idempotent; one atomic step.
 */
export async function replayLetter(at: ReportSource, letter: DeadLetter, attribution: Attribution): Promise<Replayed> {
  await recordAction(at.redis, 'replay', letter.name, attribution);
  return bindReplay(at.redis).withPieces(letter.keys, letter.id);
}

/**
 * Puts the dead letters that are meant back, oldest first, and says of each message what became of it. What operators did is
 * not among them. One line of the trail is about `max` messages.
 *
 * Contract: rejects when Redis cannot be reached. Each message is put back in one atomic step, so whoever is killed in
 * between, or runs it again, has put each back once. The run ends: a letter that was written after its beginning is not
 * meant.
 */
export async function* replayLetters(
  at: ReportSource,
  filter: LetterFilter,
  attribution: Attribution,
  max: number,
): AsyncGenerator<ReplayedMessage> {
  const run = bindReplay(at.redis);
  for await (const letters of batchesOf(at, replayable(filter), max)) {
    await record(at, 'replay', letters, attribution);
    // Put back one by one, a piece of a message would be answered by itself.
    for (const pieces of Map.groupBy(letters, messageOf).values()) {
      const { keys } = pieces[0] as DeadLetter;
      const [result, entry] = await run.together(
        keys,
        pieces.map(({ id }) => id),
      );
      yield { letters: pieces.map(({ name }) => name), result, entry };
    }
  }
}

/** The letters that `replayLetters` puts back: what an operator did is not done again among others. Pure. */
function replayable(filter: LetterFilter): LetterFilter {
  return { ...filter, withoutDesk: true };
}

/** How many letters `replayLetters` would put back. Rejects when Redis cannot be reached. */
export async function countReplayable(at: ReportSource, filter: LetterFilter): Promise<number> {
  let count = 0;
  for await (const _ of lettersMeant(at.redis, shardsOf(at), replayable(filter))) count += 1;
  return count;
}

const LETTERS_AT_ONCE = 100;

/** Puts all dead letters back that are meant. Contract: as at `replayLetters`. */
export async function replayAll(at: ReportSource, filter: LetterFilter, attribution: Attribution): Promise<void> {
  for await (const _ of replayLetters(at, filter, attribution, LETTERS_AT_ONCE));
}

/** Removes one dead letter for good. Returns false when it was gone. Contract: as at `replayLetter`. */
export async function purgeLetter(at: ReportSource, letter: DeadLetter, attribution: Attribution): Promise<boolean> {
  await record(at, 'purge', [letter], attribution);
  return removeLetter(at.redis, letter);
}

/** Removes the dead letters that are meant for good, one by one. Contract: as at `replayLetters`. */
export async function* purgeLetters(
  at: ReportSource,
  filter: LetterFilter,
  attribution: Attribution,
  max: number,
): AsyncGenerator<DeadLetter> {
  for await (const letters of batchesOf(at, filter, max)) {
    await record(at, 'purge', letters, attribution);
    // Somebody else may have put it back.
    for (const letter of letters) if (await removeLetter(at.redis, letter)) yield letter;
  }
}

/** Pieces fail soon after their message; only so many letters behind a batch are looked through for them. */
const LOOKED_AT_MAX = 1_000;

/** The letters that are meant and are there now, as those of `max` messages at once, each with all of its pieces. */
async function* batchesOf(at: ReportSource, filter: LetterFilter, max: number): AsyncGenerator<DeadLetter[]> {
  const untilMs = Math.min(filter.untilMs ?? Number.POSITIVE_INFINITY, (await serverTimeMs(at.redis)) + 1);
  let after: string | undefined;
  let behind: number;
  do {
    const letters: DeadLetter[] = [];
    const messages = new Set<string>();
    behind = 0;
    for await (const letter of lettersMeant(at.redis, shardsOf(at), { ...filter, untilMs }, after)) {
      const isFull = messages.size >= max;
      if (isFull && !messages.has(messageOf(letter))) behind += 1;
      else letters.push(letter);
      if (behind >= LOOKED_AT_MAX) break;
      if (isFull) continue;
      messages.add(messageOf(letter));
      after = letter.name;
    }
    yield letters;
  } while (behind > 0);
}

/** The message that a letter is of, or a piece of. */
function messageOf({ keys, record, entry, id }: DeadLetter): string {
  return `${keys.dead} ${record.into ?? (entry || id)}`;
}

async function record(
  { redis }: ReportSource,
  action: 'replay' | 'purge',
  letters: readonly DeadLetter[],
  attribution: Attribution,
): Promise<void> {
  const [first] = letters;
  if (first === undefined) return;
  const target = letters.length === 1 ? first.name : `${letters.length} dead letters`;
  await recordAction(redis, action, target, attribution);
}
