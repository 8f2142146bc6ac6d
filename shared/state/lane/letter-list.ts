import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type Keys, keysOf } from '../../redis/keys.ts';
import { compareStreamIds, entriesFrom, msOf } from '../../redis/stream.ts';
import { countLetters, type DeadLetter, LETTER_NAME, letterOf } from './dead-letters.ts';

/** Which letters are meant; a part that is absent leaves out none. */
export interface LetterFilter {
  chat?: ChatKey;
  reason?: string;
  /** Failed since, in ms since the epoch. */
  sinceMs?: number;
  /** Failed before, in ms since the epoch. */
  untilMs?: number;
  /** Not what operators did. */
  withoutDesk?: true;
}

/** Some dead letters, the newest first. */
interface NewestLetters {
  letters: readonly DeadLetter[];
  /** How many a filter means in all. */
  total: number;
}

const PAGE = 100;

/**
 * All dead letters that are meant, shard by shard, oldest first. The pieces of a message go with it, whatever their own reason
 * is. Contract: rejects when Redis cannot be reached; read as far as somebody reads on, and what is removed meanwhile skips
 * none.
 */
export async function* lettersMeant(
  redis: RedisClient,
  shards: readonly Keys[],
  filter: LetterFilter,
): AsyncGenerator<DeadLetter> {
  const isMeant = meaningOf(filter);
  for (const shard of shards.keys()) {
    const begin = `${Math.max(0, filter.sinceMs ?? 0)}-0`;
    for await (const entry of entriesFrom(redis, keysOf(shard).dead, begin, { page: PAGE })) {
      if (filter.untilMs !== undefined && msOf(entry[0]) >= filter.untilMs) break;
      const letter = letterOf(shards, shard, entry);
      if (isMeant(letter)) yield letter;
    }
  }
}

/** A test for letters that are read oldest first: a piece fails after the message that it was merged into. */
function meaningOf({ chat, reason, withoutDesk }: LetterFilter): (letter: DeadLetter) => boolean {
  const meant = new Set<string>();
  return ({ entry, record, isOfDesk }) => {
    if (withoutDesk && isOfDesk) return false;
    const isOfChat = chat === undefined || record.chat === chat;
    const isOfReason = reason === undefined || record.reason === reason;
    if (isOfChat && isOfReason && reason !== undefined) meant.add(entry);
    return isOfChat && (isOfReason || meant.has(record.into ?? ''));
  };
}

/**
 * The newest letters that are meant, `size` at most. No more are held, and without a filter no more are read. Contract:
 * rejects when Redis cannot be reached.
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
  return { letters: newestOf(found.flat(), size), total: counts.reduce((sum, { kept }) => sum + kept, 0) };
}

async function newestIn(redis: RedisClient, shards: readonly Keys[], shard: number, size: number) {
  const found: DeadLetter[] = [];
  const page = Math.min(size, PAGE);
  for await (const entry of entriesFrom(redis, keysOf(shard).dead, '+', { page, isBackwards: true })) {
    found.push(letterOf(shards, shard, entry));
    if (found.length === size) break;
  }
  return found;
}

/** With a filter all letters are looked at, and those that are meant are counted. */
async function sift(redis: RedisClient, shards: readonly Keys[], filter: LetterFilter, size: number) {
  let letters: DeadLetter[] = [];
  let total = 0;
  for await (const letter of lettersMeant(redis, shards, filter)) {
    total += 1;
    letters.push(letter);
    if (letters.length >= 2 * size) letters = newestOf(letters, size);
  }
  return { letters: newestOf(letters, size), total };
}

function newestOf(letters: readonly DeadLetter[], size: number): DeadLetter[] {
  return letters.toSorted((one, other) => newestFirst(placeOf(one.name), placeOf(other.name))).slice(0, size);
}

/** Where a letter is kept. */
interface Place {
  shard: number;
  id: string;
}

function newestFirst(one: Place, other: Place): number {
  return compareStreamIds(other.id, one.id) || one.shard - other.shard;
}

function placeOf(name: string): Place {
  const [, shard = '0', id = ''] = LETTER_NAME.exec(name) ?? [];
  return { shard: Number(shard), id };
}
