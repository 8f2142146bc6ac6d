import type { OutcomeRecord } from '../../../worker/lane/lane.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, type Keys, keysOf } from '../../redis/keys.ts';
import { entriesFrom, fieldIn, msOf, type StreamEntry } from '../../redis/stream.ts';

/** A failed message as it is kept, without its text: there may be many. */
export interface DeadLetter {
  /** The operator's name for it: the id in its stream, after its shard where there are several. */
  name: string;
  id: string;
  /** The entry of the message that failed, as alerts have it. */
  entry: string;
  keys: Keys;
  /** How it ended; empty when that cannot be read. */
  record: Partial<OutcomeRecord>;
}

/** The name of a dead letter: the id of its stream or of its message, after its shard where there are several. */
export const LETTER_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
const PAGE = 100;

/** Which letters are meant; a part that is absent leaves out none. */
export interface LetterFilter {
  chat?: ChatKey;
  reason?: string;
  /** Failed since, in ms since the epoch. */
  sinceMs?: number;
}

/**
 * The dead letter of a name: its own id, or the entry of its message, as alerts and the log have it. Throws when there
 * is none, or more than one: each stream makes its own ids, so the same id may exist in several shards.
 */
export async function findLetter(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter> {
  const [, shard, id = ''] = LETTER_NAME.exec(name) ?? [];
  const asked = [...shards.keys()].filter((at) => shard === undefined || Number(shard) === at);
  const own = await Promise.all(
    asked.map(async (at) => (await redis.xrange(keysOf(at).dead, id, id)).map((entry) => letterOf(shards, at, entry))),
  );
  const [letter, ...others] = own.flat().length > 0 ? own.flat() : await lettersOfEntry(redis, shards, asked, id);
  if (letter === undefined) throw new Error(unknownLetter(name));
  if (others.length === 0) return letter;
  const names = [letter, ...others].map((each) => each.name).join(', ');
  throw new Error(`There are ${others.length + 1} dead letters ${name}: say which one, ${names}.`);
}

function unknownLetter(name: string): string {
  return `There is no dead letter ${name}. It may have been put back or removed: "npm run cli -- message ${name}" says more.`;
}

/** The letters of a message that failed; it may have failed again after it was put back, under another entry. */
async function lettersOfEntry(
  redis: RedisClient,
  shards: readonly Keys[],
  asked: readonly number[],
  entry: string,
): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (const shard of asked)
    for await (const letter of lettersOf(redis, shards, shard, msOf(entry)))
      if (letter.entry === entry) found.push(letter);
  return found;
}

/** The id of the dead letter of a message; `undefined` when there is none, or it was put back or removed. */
export async function letterOfMessage(redis: RedisClient, keys: Keys, entry: EntryId): Promise<string | undefined> {
  for await (const each of streamOf(redis, keys.dead, msOf(entry)))
    if (fieldIn(each[1], 'entry') === entry) return each[0];
  return undefined;
}

/** The entry of the message of a dead letter, by the letter's id. */
export async function entryOfLetter(redis: RedisClient, keys: Keys, id: string): Promise<EntryId | undefined> {
  const [letter] = await redis.xrange(keys.dead, id, id);
  return letter && (fieldIn(letter[1], 'entry') as EntryId | undefined);
}

/** The message of a dead letter as it was stored, which holds what its user wrote. */
export async function messageOfLetter(redis: RedisClient, keys: Keys, id: string): Promise<string | undefined> {
  const [letter] = await redis.xrange(keys.dead, id, id);
  return letter && fieldIn(letter[1], 'message');
}

/** Removes a dead letter for good. Returns false when it was gone. */
export async function removeLetter(redis: RedisClient, { keys, id }: DeadLetter): Promise<boolean> {
  return (await redis.xdel(keys.dead, id)) === 1;
}

/** How many letters were ever removed because there were too many. */
export async function countDropped(redis: RedisClient, shards: readonly Keys[]): Promise<number> {
  const counts = await Promise.all(shards.map(({ counts }) => redis.hget(counts, 'lettersDropped')));
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

/** All dead letters that are meant, shard by shard, oldest first. */
export async function allLetters(
  redis: RedisClient,
  shards: readonly Keys[],
  { chat, reason, sinceMs = 0 }: LetterFilter = {},
): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const shard of shards.keys())
    for await (const letter of lettersOf(redis, shards, shard, sinceMs)) letters.push(letter);
  const isMeant = ({ record }: DeadLetter) =>
    (chat === undefined || record.chat === chat) && (reason === undefined || record.reason === reason);
  // The pieces of a message go with it, whatever their own reason is.
  const meant = new Set<string>(letters.filter(isMeant).map(({ entry }) => entry));
  return letters.filter((letter) => isMeant(letter) || meant.has(letter.record.into ?? ''));
}

/** Oldest first. A letter is written after its message was accepted, and by the same clock. */
async function* lettersOf(
  redis: RedisClient,
  shards: readonly Keys[],
  shard: number,
  sinceMs: number,
): AsyncGenerator<DeadLetter> {
  for await (const entry of streamOf(redis, keysOf(shard).dead, sinceMs)) yield letterOf(shards, shard, entry);
}

function streamOf(redis: RedisClient, stream: string, sinceMs: number): AsyncGenerator<StreamEntry> {
  return entriesFrom(redis, stream, `${Math.max(0, sinceMs)}-0`, { page: PAGE });
}

function letterOf(shards: readonly Keys[], shard: number, [id, fields]: StreamEntry): DeadLetter {
  const name = shards.length === 1 ? id : `${shard}/${id}`;
  const message = fieldIn(fields, 'entry') ?? '';
  return { name, id, entry: message, keys: keysOf(shard), record: objectOf(fieldIn(fields, 'record')) ?? {} };
}

/** The object in a text; a damaged letter must not hide the others. */
export function objectOf(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
