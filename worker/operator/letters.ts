import { parseChatKey } from '../../shared/redis/keys.ts';
import { bindReplay, type DeadLetter, type Replayed, removeLetter } from '../../shared/state/lane/dead-letters.ts';
import { type LetterFilter, lettersMeant } from '../../shared/state/lane/letter-list.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';

/** What an operator says of the letters that are meant. Empty words say nothing. */
export interface FilterWords {
  chat?: string | undefined;
  reason?: string | undefined;
  /** A duration back from now, such as `90m`, or an ISO time. */
  since?: string | undefined;
}

export type FilterReading = { ok: true; filter: LetterFilter } | { ok: false; wrong: 'chat' | 'since' };

/** The filter that an operator's words state. Pure. */
export function readFilter({ chat, reason, since }: FilterWords, nowMs: number): FilterReading {
  const key = chat ? parseChatKey(chat)?.chat : undefined;
  if (chat && key === undefined) return { ok: false, wrong: 'chat' };
  const sinceMs = since ? sinceMsOf(since, nowMs) : undefined;
  if (Number.isNaN(sinceMs)) return { ok: false, wrong: 'since' };
  const filter = { ...(key !== undefined && { chat: key }), ...(reason && { reason }) };
  return { ok: true, filter: { ...filter, ...(sinceMs !== undefined && { sinceMs }) } };
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3600_000, d: 24 * 3600_000 } as const;

function sinceMsOf(text: string, nowMs: number): number {
  const [, number, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Where a run through dead letters goes on. */
export interface LettersLeft {
  /** When the run began, ms by Redis' clock: what failed later, and so what it put back and failed again, is not meant. */
  untilMs: number;
  /** The name of the last letter that the run has come to. */
  after: string;
}

/** How much of a run is done at once. */
export interface BatchSize {
  /** Messages; each with all of its pieces. */
  max: number;
  /** Where the batch before this one ended; absent for the first. */
  from?: LettersLeft;
}

/** What became of one message of a batch, and the names of its letters: more than one where it was in pieces. */
export interface ReplayedMessage {
  letters: readonly string[];
  result: Replayed[0];
  /** Its new entry; empty where it was not put back. */
  entry: string;
}

/** One batch of a run. */
export interface ReplayedBatch {
  messages: readonly ReplayedMessage[];
  /** How many letters were put back, and how many stay because they name no chat. */
  replayed: number;
  chatless: number;
  /** Absent when no letter is left. */
  next?: LettersLeft;
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
 * Puts the dead letters that are meant back, oldest first, at most `max` messages at once; the same filter with `next` as
 * `from` goes on. What operators did is not among them. One batch is one line of the trail.
 *
 * Contract: rejects when Redis cannot be reached. Each message is put back in one atomic step, so whoever is killed in
 * between, or repeats a batch, has put each back once; a repeated batch finds what is left of it. The run ends: a letter
 * that was written after its beginning is not meant.
 */
export async function replayLetters(
  at: ReportSource,
  filter: LetterFilter,
  attribution: Attribution,
  size: BatchSize,
): Promise<ReplayedBatch> {
  const { letters, next } = await readBatch(at, replayable(filter), size);
  await record(at, 'replay', letters, attribution);
  const run = bindReplay(at.redis);
  const messages: ReplayedMessage[] = [];
  // Put back one by one, a piece of a message would be answered by itself.
  for (const pieces of Map.groupBy(letters, messageOf).values()) {
    const { keys } = pieces[0] as DeadLetter;
    const [result, entry] = await run.together(
      keys,
      pieces.map(({ id }) => id),
    );
    messages.push({ letters: pieces.map(({ name }) => name), result, entry });
  }
  const count = (result: Replayed[0]) =>
    messages.reduce((sum, each) => sum + (each.result === result ? each.letters.length : 0), 0);
  return { messages, replayed: count('replayed'), chatless: count('chatless'), ...(next && { next }) };
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

/** The batches of a run of so many messages at once, one after the other, until no letter is left. */
export async function* everyBatch<Batch extends { next?: LettersLeft }>(
  max: number,
  run: (size: BatchSize) => Promise<Batch>,
): AsyncGenerator<Batch> {
  for (let from: LettersLeft | undefined; ; ) {
    const batch = await run({ max, ...(from && { from }) });
    yield batch;
    if (batch.next === undefined) return;
    from = batch.next;
  }
}

const LETTERS_AT_ONCE = 100;

/** Puts all dead letters back that are meant, in batches. Contract: as at `replayLetters`. */
export async function replayAll(at: ReportSource, filter: LetterFilter, attribution: Attribution): Promise<void> {
  for await (const _ of everyBatch(LETTERS_AT_ONCE, (size) => replayLetters(at, filter, attribution, size)));
}

/** Removes one dead letter for good. Returns false when it was gone. Contract: as at `replayLetter`. */
export async function purgeLetter(at: ReportSource, letter: DeadLetter, attribution: Attribution): Promise<boolean> {
  await record(at, 'purge', [letter], attribution);
  return removeLetter(at.redis, letter);
}

/** Removes the dead letters that are meant for good, in batches. Contract: as at `replayLetters`. */
export async function purgeLetters(at: ReportSource, filter: LetterFilter, attribution: Attribution, size: BatchSize) {
  const { letters, next } = await readBatch(at, filter, size);
  await record(at, 'purge', letters, attribution);
  const removed: DeadLetter[] = [];
  // Somebody else may have put it back.
  for (const letter of letters) if (await removeLetter(at.redis, letter)) removed.push(letter);
  return { letters: removed, ...(next && { next }) };
}

/** Pieces fail soon after their message; only so many letters behind a batch are looked through for them. */
const LOOKED_AT_MAX = 1_000;

async function readBatch(at: ReportSource, filter: LetterFilter, { max, from }: BatchSize) {
  const untilMs = from?.untilMs ?? (await beginningOf(at, filter));
  const letters: DeadLetter[] = [];
  const messages = new Set<string>();
  let after = '';
  let behind = 0;
  for await (const letter of lettersMeant(at.redis, shardsOf(at), { ...filter, untilMs }, from?.after)) {
    const isFull = messages.size >= max;
    if (isFull && !messages.has(messageOf(letter))) behind += 1;
    else letters.push(letter);
    if (behind >= LOOKED_AT_MAX) break;
    if (isFull) continue;
    messages.add(messageOf(letter));
    after = letter.name;
  }
  return { letters, ...(behind > 0 && { next: { untilMs, after } }) };
}

/** Up to here the letters are those of a run that begins now. */
async function beginningOf({ redis }: ReportSource, { untilMs = Number.POSITIVE_INFINITY }: LetterFilter) {
  return Math.min(untilMs, (await serverTimeMs(redis)) + 1);
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
