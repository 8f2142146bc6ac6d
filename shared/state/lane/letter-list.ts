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

/** The side of a letter, named as operators have it, on which to look on; that letter itself is not meant. */
export type Beside = { olderThan: string } | { newerThan: string };

/** Some dead letters, the newest first. */
export interface LetterPage {
  letters: readonly DeadLetter[];
  /** How many a filter means in all. */
  total: number;
  /** The letter behind which older ones follow; absent where there are none. Likewise for newer ones. */
  olderThan?: string;
  newerThan?: string;
}

const PAGE = 100;

/**
 * All dead letters that are meant, shard by shard, oldest first, or those behind a letter in this order. The pieces of a
 * message go with it, whatever their own reason is. Contract: rejects when Redis cannot be reached; read as far as somebody
 * reads on, and what is removed meanwhile skips none.
 */
export async function* lettersMeant(
  redis: RedisClient,
  shards: readonly Keys[],
  filter: LetterFilter,
  after?: string,
): AsyncGenerator<DeadLetter> {
  const from = after === undefined ? undefined : placeOf(after);
  const isMeant = meaningOf(filter);
  for (const shard of shards.keys()) {
    if (from !== undefined && shard < from.shard) continue;
    const begin = shard === from?.shard ? `(${from.id}` : `${Math.max(0, filter.sinceMs ?? 0)}-0`;
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
 * A page of the letters that are meant: the newest, or those beside a letter. No more than a page is held, and without a
 * filter no more is read. Contract: rejects when Redis cannot be reached.
 */
export async function readLetterPage(
  redis: RedisClient,
  shards: readonly Keys[],
  filter: LetterFilter,
  { size, beside }: { size: number; beside?: Beside },
): Promise<LetterPage> {
  const isUp = beside !== undefined && 'newerThan' in beside;
  const from = beside && placeOf(isUp ? beside.newerThan : beside.olderThan);
  const isAll = Object.keys(filter).length === 0;
  const wanted = { size: size + 1, from, isUp };
  const { found, total } = isAll ? await readNext(redis, shards, wanted) : await sift(redis, shards, filter, wanted);
  // What is newest fills a page.
  if (isUp && found.length <= size) return readLetterPage(redis, shards, filter, { size });
  const letters = isUp ? found.slice(-size) : found.slice(0, size);
  const [first, last] = [letters[0]?.name, letters.at(-1)?.name];
  const hasOlder = isUp || found.length > size;
  return {
    ...{ letters, total },
    ...(hasOlder && last !== undefined && { olderThan: last }),
    ...(beside !== undefined && first !== undefined && { newerThan: first }),
  };
}

/** Where a letter is kept. */
interface Place {
  shard: number;
  id: string;
}

/** The letters next to a place, or else the newest: so many, upwards or downwards in a list with the newest first. */
interface Wanted {
  size: number;
  from: Place | undefined;
  isUp: boolean;
}

interface Found {
  found: DeadLetter[];
  total: number;
}

/** Without a filter each shard finds what is next by itself. */
async function readNext(redis: RedisClient, shards: readonly Keys[], wanted: Wanted): Promise<Found> {
  const counts = await Promise.all(shards.map((keys) => countLetters(redis, keys)));
  const found = await Promise.all([...shards.keys()].map((shard) => nextIn(redis, shards, shard, wanted)));
  return { found: nearest(found.flat(), wanted), total: counts.reduce((sum, { kept }) => sum + kept, 0) };
}

async function nextIn(redis: RedisClient, shards: readonly Keys[], shard: number, { size, from, isUp }: Wanted) {
  // Several shards may have a letter of the same id.
  const isNext = from !== undefined && (isUp ? shard < from.shard : shard > from.shard);
  const begin = from === undefined ? '+' : isNext ? from.id : `(${from.id}`;
  const found: DeadLetter[] = [];
  const page = Math.min(size, PAGE);
  for await (const entry of entriesFrom(redis, keysOf(shard).dead, begin, { page, isBackwards: !isUp })) {
    found.push(letterOf(shards, shard, entry));
    if (found.length === size) break;
  }
  return found;
}

/** With a filter all letters are looked at, and those that are meant are counted. */
async function sift(redis: RedisClient, shards: readonly Keys[], filter: LetterFilter, wanted: Wanted): Promise<Found> {
  const { size, from, isUp } = wanted;
  let found: DeadLetter[] = [];
  let total = 0;
  for await (const letter of lettersMeant(redis, shards, filter)) {
    total += 1;
    const distance = from === undefined ? 1 : newestFirst(placeOf(letter.name), from);
    if (isUp ? distance >= 0 : distance <= 0) continue;
    found.push(letter);
    if (found.length >= 2 * size) found = nearest(found, wanted);
  }
  return { found: nearest(found, wanted), total };
}

function nearest(letters: readonly DeadLetter[], { size, isUp }: Wanted): DeadLetter[] {
  const sorted = letters.toSorted((one, other) => newestFirst(placeOf(one.name), placeOf(other.name)));
  return isUp ? sorted.slice(-size) : sorted.slice(0, size);
}

function newestFirst(one: Place, other: Place): number {
  return compareStreamIds(other.id, one.id) || one.shard - other.shard;
}

function placeOf(name: string): Place {
  const [, shard = '0', id = ''] = LETTER_NAME.exec(name) ?? [];
  return { shard: Number(shard), id };
}
