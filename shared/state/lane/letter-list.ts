import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type Keys, keysOf } from '../../redis/keys.ts';
import { compareStreamIds, entriesFrom, msOf } from '../../redis/stream.ts';
import { countLetters, type DeadLetter, LETTER_NAME, letterOf } from './dead-letters.ts';

/** Conditions that a letter must meet. An absent condition excludes nothing. */
export interface LetterFilter {
  chat?: ChatKey;
  reason?: string;
  /** The earliest failure, in ms since the epoch, inclusive. */
  sinceMs?: number;
  /** The latest failure, in ms since the epoch, exclusive. */
  untilMs?: number;
  /** Excludes operators' commands. */
  withoutDesk?: true;
}

/** The newest letters that meet a filter, newest first. */
interface NewestLetters {
  letters: readonly DeadLetter[];
  /** The number of all letters that meet the filter. */
  total: number;
}

const PAGE = 100;

/**
 * All dead letters that meet a filter, shard by shard, oldest first. If a message failed for the filter's reason, the
 * letters of the messages merged into it match, too. Contract: rejects when Redis cannot be reached. Reads letters on demand;
 * if some are removed meanwhile, no other letter is skipped.
 */
export async function* lettersMatching(
  redis: RedisClient,
  shards: readonly Keys[],
  filter: LetterFilter,
): AsyncGenerator<DeadLetter> {
  const meetsFilter = testOf(filter);
  for (const shard of shards.keys()) {
    const begin = `${Math.max(0, filter.sinceMs ?? 0)}-0`;
    for await (const entry of entriesFrom(redis, keysOf(shard).dead, begin, { page: PAGE })) {
      if (filter.untilMs !== undefined && msOf(entry[0]) >= filter.untilMs) break;
      const letter = letterOf(shards, shard, entry);
      if (meetsFilter(letter)) yield letter;
    }
  }
}

/**
 * Creates a test for dead letters. Pass the letters oldest first: the letter of a merged message is newer than that of the
 * message it was merged into, and matches the reason if the older letter did.
 */
function testOf({ chat, reason, withoutDesk }: LetterFilter): (letter: DeadLetter) => boolean {
  const entriesOfReason = new Set<string>();
  return ({ entry, record, isOfDesk }) => {
    if (withoutDesk && isOfDesk) return false;
    const isOfChat = chat === undefined || record.chat === chat;
    const isOfReason = reason === undefined || record.reason === reason;
    if (isOfChat && isOfReason && reason !== undefined) entriesOfReason.add(entry);
    return isOfChat && (isOfReason || entriesOfReason.has(record.into ?? ''));
  };
}

/**
 * The newest letters that meet a filter, `size` at most. For a filter without conditions, reads only `size` letters of each
 * shard. Contract: rejects when Redis cannot be reached.
 */
export async function readNewestLetters(
  redis: RedisClient,
  shards: readonly Keys[],
  filter: LetterFilter,
  size: number,
): Promise<NewestLetters> {
  if (Object.keys(filter).length > 0) return sift(redis, shards, filter, size);
  const counts = await Promise.all(shards.map((keys) => countLetters(redis, keys)));
  const found = await Promise.all([...shards.keys()].map((shard) => newestIn(redis, shards, shard, size)));
  return { letters: newestOf(found.flat(), size), total: counts.reduce((sum, { letters }) => sum + letters, 0) };
}

async function newestIn(redis: RedisClient, shards: readonly Keys[], shard: number, size: number) {
  const backwards = { page: PAGE, isBackwards: true, max: size };
  const entries = await Array.fromAsync(entriesFrom(redis, keysOf(shard).dead, '+', backwards));
  return entries.map((entry) => letterOf(shards, shard, entry));
}

/** The newest letters that meet a filter. Reads every letter of the filter's time, to count all that meet the filter. */
async function sift(redis: RedisClient, shards: readonly Keys[], filter: LetterFilter, size: number) {
  let letters: DeadLetter[] = [];
  let total = 0;
  for await (const letter of lettersMatching(redis, shards, filter)) {
    total += 1;
    letters.push(letter);
    if (letters.length >= 2 * size) letters = newestOf(letters, size);
  }
  return { letters: newestOf(letters, size), total };
}

function newestOf(letters: readonly DeadLetter[], size: number): DeadLetter[] {
  const shardOf = ({ name }: DeadLetter) => Number(LETTER_NAME.exec(name)?.[1] ?? 0);
  return letters
    .toSorted((one, other) => compareStreamIds(other.id, one.id) || shardOf(one) - shardOf(other))
    .slice(0, size);
}
