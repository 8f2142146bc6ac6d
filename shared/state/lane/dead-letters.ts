import { jsonFields } from '../../base/fields.ts';
import { decodeMessage, piecesOf, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, isDeskLane, type Keys, keysOf, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { entriesFrom, fieldIn, inSlices, msOf, type StreamEntry } from '../../redis/stream.ts';
import type { OutcomeRecord } from './record-streams.ts';

/** A dead letter. The text of its message is missing here, because there may be many letters. */
export interface DeadLetter {
  /** The name by which operators address the letter: `<id>`, or `<shard>/<id>` with several shards. */
  name: string;
  id: string;
  /** The entry of the message that failed; alerts name this entry. */
  entry: string;
  keys: Keys;
  /** Whether the message is an operator's command. Replays of many letters skip such letters: the command would be too late. */
  isOfDesk: boolean;
  /** The ledger's record of the message's outcome; empty if unreadable. */
  record: Partial<OutcomeRecord>;
}

/** Matches the name of a dead letter: its id, or the entry of its message; `<shard>/<id>` with several shards. */
export const LETTER_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
const PAGE = 100;

/**
 * The dead letters whose id, or else whose message's entry, is `name`. Shards number their entries separately, so several
 * shards may have the same id. Rejects when Redis cannot be reached.
 */
export async function lettersNamed(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter[]> {
  const [, shard, id = ''] = LETTER_NAME.exec(name) ?? [];
  const searchedShards = [...shards.keys()].filter((at) => shard === undefined || Number(shard) === at);
  const withId = await Promise.all(
    searchedShards.map(async (at) =>
      (await redis.xrange(keysOf(at).dead, id, id)).map((entry) => letterOf(shards, at, entry)),
    ),
  );
  return withId.flat().length > 0 ? withId.flat() : lettersOfEntry(redis, shards, searchedShards, id);
}

/** Reports that nothing has the name that an operator gave, or that several things have it. `message` is for the operator. */
export class UnknownNameError extends Error {
  override readonly name = 'UnknownNameError';
}

/** The only dead letter that `lettersNamed` finds. Throws `UnknownNameError` if there is none or more than one. */
export async function findLetter(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter> {
  const [letter, ...others] = await lettersNamed(redis, shards, name);
  if (letter === undefined) throw new UnknownNameError(unknownLetter(name));
  if (others.length === 0) return letter;
  const names = [letter, ...others].map((each) => each.name).join(', ');
  throw new UnknownNameError(`There are ${others.length + 1} dead letters ${name}: say which one, ${names}.`);
}

function unknownLetter(name: string): string {
  return `There is no dead letter ${name}. It may have been replayed or removed: "npm run cli -- message ${name}" says more.`;
}

/** The letters of the messages with this entry. There may be several, because shards number their entries separately. */
async function lettersOfEntry(
  redis: RedisClient,
  shards: readonly Keys[],
  searchedShards: readonly number[],
  entry: string,
): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (const shard of searchedShards)
    for await (const each of streamOf(redis, keysOf(shard).dead, msOf(entry)))
      if (fieldIn(each[1], 'entry') === entry) found.push(letterOf(shards, shard, each));
  return found;
}

/** The id of the dead letter of a message; `undefined` if there is none, or if it was replayed or removed. */
export async function letterOfMessage(redis: RedisClient, keys: Keys, entry: EntryId): Promise<string | undefined> {
  for await (const each of streamOf(redis, keys.dead, msOf(entry)))
    if (fieldIn(each[1], 'entry') === entry) return each[0];
  return undefined;
}

/** One field of a dead letter: the entry of its message, or the message itself as JSON, with the user's text. */
export async function fieldOfLetter(
  redis: RedisClient,
  keys: Keys,
  id: string,
  field: 'entry' | 'message',
): Promise<string | undefined> {
  const [letter] = await redis.xrange(keys.dead, id, id);
  return letter && fieldIn(letter[1], field);
}

/** Removes a dead letter for good. Returns false if it no longer exists. */
export async function removeLetter(redis: RedisClient, { keys, id }: DeadLetter): Promise<boolean> {
  return (await redis.xdel(keys.dead, id)) === 1;
}

/** Counts the letters that a shard has, and the letters that it ever dropped because it had too many. */
export async function countLetters(redis: RedisClient, { dead, counts }: Keys) {
  const [letters, dropped] = await Promise.all([redis.xlen(dead), redis.hget(counts, 'lettersDropped')]);
  return { letters, dropped: Number(dropped ?? 0) };
}

/** The highest count that `bindLetterCount` returns. */
const LETTERS_COUNTED_MAX = 1_000;

/**
 * Returns a function that counts a shard's letters from `sinceMs` (by default, the last `closeLetters`) to `untilMs` (by
 * default, now), both inclusive. Operators' commands do not count. Contract: the function rejects when Redis cannot be reached.
 */
export function bindLetterCount(redis: RedisClient) {
  const count = bindScript<number>(redis, `${import.meta.dirname}/count-letters.lua`);
  return ({ dead, counts }: Keys, sinceMs?: number, untilMs?: number): Promise<number> =>
    count([dead, counts], [sinceMs ?? '', untilMs ?? '', LETTERS_COUNTED_MAX]);
}

/** Marks a shard's present letters as dealt with: they remain, and no longer count as waiting for an operator. */
export async function closeLetters(redis: RedisClient, { counts }: Keys, nowMs: number): Promise<void> {
  await redis.hset(counts, 'lettersClosedMs', nowMs);
}

/** Counts the letters that all shards ever dropped because they had too many. */
export async function countDropped(redis: RedisClient, shards: readonly Keys[]): Promise<number> {
  const counts = await Promise.all(shards.map((keys) => countLetters(redis, keys)));
  return counts.reduce((sum, { dropped }) => sum + dropped, 0);
}

/**
 * Returns a function that removes a shard's oldest letters beyond `lettersMax`, `DROPPED_AT_ONCE` per call at most. It returns
 * the ledger records of the removed letters as JSON. Contract: it rejects when Redis cannot be reached.
 */
export function bindDrop(redis: RedisClient): (keys: Keys, lettersMax: number) => Promise<string[]> {
  const drop = bindScript<string[]>(redis, `${import.meta.dirname}/drop-letters.lua`);
  return ({ dead, counts }, lettersMax) => drop([dead, counts], [lettersMax, DROPPED_AT_ONCE]);
}

const DROPPED_AT_ONCE = 100;

/** The entries of a stream since a time, oldest first. */
function streamOf(redis: RedisClient, stream: string, sinceMs: number): AsyncGenerator<StreamEntry> {
  return entriesFrom(redis, stream, `${Math.max(0, sinceMs)}-0`, { page: PAGE });
}

/** Reads a dead letter from an entry of the stream `dead`. Pure. */
export function letterOf(shards: readonly Keys[], shard: number, [id, fields]: StreamEntry): DeadLetter {
  const name = shards.length === 1 ? id : `${shard}/${id}`;
  const message = fieldIn(fields, 'entry') ?? '';
  const record = jsonFields(fieldIn(fields, 'record')) ?? {};
  return { name, id, entry: message, keys: keysOf(shard), isOfDesk: isDeskLane(laneIn(fields)), record };
}

/**
 * The result of a replay. `gone`: there is no such letter. `chatless`: the letter names no chat or has no message, and stays.
 * `unfinished`: a message that was merged into the letter's message has no outcome yet; nothing changes.
 */
export type Replayed = ['replayed', entry: string] | ['gone' | 'chatless' | 'unfinished', ''];

/** How many letters to read at most, to find the letter for a person's `/retry` or the letters of merged messages. */
const SEARCHED_MAX = 2_000;

/**
 * Replays dead letters of one chat: puts their messages back on the stream and removes the letters, in one step. `together`
 * replays the letters with the given ids. `withPieces` replays one letter and the letters of the messages that were merged
 * with its message. Contract: rejects when Redis cannot be reached. Idempotent.
 */
export function bindReplay(redis: RedisClient) {
  const run = bindScript<Replayed>(redis, `${import.meta.dirname}/replay.lua`);
  const at = ({ dead, inbound, counts, absent }: Keys) => [dead, inbound, counts, absent];
  return {
    together: (keys: Keys, ids: readonly string[]) => run(at(keys), [keys.turnPrefix, '', ...ids]),
    withPieces: async (keys: Keys, id: string) =>
      run(at(keys), [keys.turnPrefix, 1, ...(await piecesWith(redis, keys, id))]),
  };
}

/** A failed message that may have been merged into another message, or into which others may have been merged. */
interface Piece extends Waiting {
  id: string;
  /** The entry of the message into which this one was merged, if it was. */
  into: string | undefined;
}

/** The ids of the letters of a message and of the messages merged into it, found from any of these letters. */
async function piecesWith(redis: RedisClient, keys: Keys, id: string): Promise<string[]> {
  const [letterOfId] = await redis.xrange(keys.dead, id, id);
  const chat = letterOfId && fieldIn(letterOfId[1], 'chat');
  if (!chat) return [id];
  const letters: Piece[] = [];
  const add = (entries: readonly StreamEntry[]) => letters.push(...entries.flatMap((each) => pieceOf(each, chat)));
  const nearby = { page: PAGE, max: SEARCHED_MAX / 2 };
  const older = await Array.fromAsync(entriesFrom(redis, keys.dead, `(${id}`, { ...nearby, isBackwards: true }));
  add(older.toReversed());
  add([letterOfId]);
  add(await Array.fromAsync(entriesFrom(redis, keys.dead, `(${id}`, nearby)));
  const hasId = (letter: Piece) => letter.id === id;
  const groupOf = (first: Piece, at: number): Piece[] => {
    const pieces = piecesOf(first.message, letters.slice(at + 1)).map(({ entry }) => entry);
    return [first, ...letters.filter(({ entry, into }) => into === first.entry || pieces.includes(entry))];
  };
  const group = letters.map(groupOf).find((each) => each.some(hasId)) ?? [];
  return group.length === 0 ? [id] : group.map((letter) => letter.id);
}

function pieceOf([id, fields]: StreamEntry, chat: string): Piece[] {
  const message = decodeMessage(fieldIn(fields, 'message'));
  if (fieldIn(fields, 'chat') !== chat || !message.ok) return [];
  const into = /"into":"(\d+-\d+)"/.exec(fieldIn(fields, 'record') ?? '')?.[1];
  return [{ id, entry: (fieldIn(fields, 'entry') ?? '') as EntryId, message: message.value, into }];
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The dead letters of one shard, for the people in its chats. Each method rejects when Redis cannot be reached. */
export function createDeadLetters(redis: RedisClient, keys: Keys) {
  const replay = bindReplay(redis);
  return {
    /** The id of a chat's newest dead letter, or of the letter of `entry`, if found. Skips operators' commands. */
    async newest(chat: ChatKey, entry?: string): Promise<string | undefined> {
      const backwards = { page: PAGE, isBackwards: true, max: SEARCHED_MAX };
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '+', backwards))
        if (isOf(fields, chat, entry) && !isDeskLane(laneIn(fields))) return id;
      return undefined;
    },
    /**
     * Replays a letter, together with the messages merged with its message. Does nothing if the letter is gone, or if one of
     * these messages has no outcome yet.
     */
    async replay(id: string): Promise<void> {
      await replay.withPieces(keys, id);
    },
    /** Removes all letters of a chat. */
    async erase(chat: ChatKey): Promise<void> {
      const ids: string[] = [];
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '-', { page: PAGE }))
        if (isOf(fields, chat, undefined)) ids.push(id);
      for (const some of inSlices(ids, PAGE)) await redis.xdel(keys.dead, ...some);
    },
  };
}

function isOf(fields: readonly string[], chat: ChatKey, entry: string | undefined): boolean {
  if (entry !== undefined && fieldIn(fields, 'entry') !== entry) return false;
  return chatOf(laneIn(fields)) === chat;
}

function laneIn(fields: readonly string[]): LaneKey {
  return (fieldIn(fields, 'chat') ?? '') as LaneKey;
}
