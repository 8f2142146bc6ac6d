import { join } from 'node:path';
import { jsonFields } from '../../base/fields.ts';
import { decodeMessage, piecesOf, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, isDeskLane, type Keys, keysOf, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { entriesFrom, fieldIn, inSlices, msOf, type StreamEntry } from '../../redis/stream.ts';
import type { OutcomeRecord } from './record-streams.ts';

/** A dead letter without the text of its message, because there may be many. */
export interface DeadLetter {
  /** The name by which operators address it: `<id>`, or `<shard>/<id>` with several shards. */
  name: string;
  id: string;
  /** The entry of the message that failed; alerts name it. */
  entry: string;
  keys: Keys;
  /** Whether its message is an operator's command. Replays of many letters skip these: the command would come too late. */
  isOfDesk: boolean;
  /** The ledger's record of its end; empty if unreadable. */
  record: Partial<OutcomeRecord>;
}

/** The name of a dead letter: its id, or the entry of its message; `<shard>/<id>` with several shards. */
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

/** A name that fits no dead letter, or several. The message says what to do. */
export class UnknownNameError extends Error {
  override readonly name = 'UnknownNameError';
}

/** The only dead letter of a name, found as by `lettersNamed`. Throws `UnknownNameError`. */
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

/** The letters of a failed message. There may be several: a replayed message can fail again. */
async function lettersOfEntry(
  redis: RedisClient,
  shards: readonly Keys[],
  searchedShards: readonly number[],
  entry: string,
): Promise<DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (const shard of searchedShards)
    for await (const letter of lettersOf(redis, shards, shard, msOf(entry)))
      if (letter.entry === entry) found.push(letter);
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
 * Binds the count of a shard's letters that failed between two times (ms since the epoch, both inclusive). Without times it
 * counts the letters since the last `closeLetters`. Contract: the returned function rejects when Redis cannot be reached.
 */
export function bindLetterCount(redis: RedisClient) {
  const count = bindScript<number>(redis, join(import.meta.dirname, 'count-letters.lua'));
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
 * Binds the removal of a shard's oldest letters beyond `lettersMax`, `DROPPED_AT_ONCE` a call. Returns their ledger records
 * as JSON. Contract: the returned function rejects when Redis cannot be reached.
 */
export function bindDrop(redis: RedisClient): (keys: Keys, lettersMax: number) => Promise<string[]> {
  const drop = bindScript<string[]>(redis, join(import.meta.dirname, 'drop-letters.lua'));
  return ({ dead, counts }, lettersMax) => drop([dead, counts], [lettersMax, DROPPED_AT_ONCE]);
}

const DROPPED_AT_ONCE = 100;

/** The letters of a shard since a time, oldest first. */
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

/** Reads a dead letter from an entry of the stream `dead`. Pure. */
export function letterOf(shards: readonly Keys[], shard: number, [id, fields]: StreamEntry): DeadLetter {
  const name = shards.length === 1 ? id : `${shard}/${id}`;
  const message = fieldIn(fields, 'entry') ?? '';
  const record = jsonFields(fieldIn(fields, 'record')) ?? {};
  return { name, id, entry: message, keys: keysOf(shard), isOfDesk: isDeskLane(laneIn(fields)), record };
}

/**
 * The result of a replay. `chatless`: the letter names no chat, and stays. `unfinished`: a piece of its message has not
 * failed yet.
 */
export type Replayed = ['replayed', entry: string] | ['gone' | 'chatless' | 'unfinished', ''];

/** Letters read at most to find the one for a person's `/retry`, or the pieces around a letter. */
const SEARCHED_MAX = 2_000;

/**
 * Replays dead letters of one chat: puts their messages at the end of its lane and removes the letters, in one step.
 * `together` takes the letters' ids; `withPieces` adds to one letter the other pieces of its message.
 * Contract: rejects when Redis cannot be reached. Idempotent.
 */
export function bindReplay(redis: RedisClient) {
  const run = bindScript<Replayed>(redis, join(import.meta.dirname, 'replay.lua'));
  const at = ({ dead, inbound, counts, absent }: Keys) => [dead, inbound, counts, absent];
  return {
    together: (keys: Keys, ids: readonly string[]) => run(at(keys), [keys.turnPrefix, '', ...ids]),
    withPieces: async (keys: Keys, id: string) =>
      run(at(keys), [keys.turnPrefix, 1, ...(await piecesWith(redis, keys, id))]),
  };
}

/** A failed message that may be a piece of another message, or have pieces itself. */
interface Piece extends Waiting {
  id: string;
  /** The entry of the message into which it was merged. */
  into: string | undefined;
}

/** The letters of all pieces of a message, in order, found from the letter of any piece. */
async function piecesWith(redis: RedisClient, keys: Keys, id: string): Promise<string[]> {
  const [letterOfId] = await redis.xrange(keys.dead, id, id);
  const chat = letterOfId && fieldIn(letterOfId[1], 'chat');
  if (!chat) return [id];
  const letters: Piece[] = [];
  const add = (entries: readonly StreamEntry[]) => letters.push(...entries.flatMap((each) => pieceOf(each, chat)));
  const older = await lettersNextTo(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE, isBackwards: true }));
  add(older.toReversed());
  add([letterOfId]);
  add(await lettersNextTo(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE })));
  const hasId = (letter: Piece) => letter.id === id;
  const groupOf = (first: Piece, at: number): Piece[] => {
    const pieces = piecesOf(first.message, letters.slice(at + 1)).map(({ entry }) => entry);
    return [first, ...letters.filter(({ entry, into }) => into === first.entry || pieces.includes(entry))];
  };
  const group = letters.map(groupOf).find((each) => each.some(hasId)) ?? [];
  return group.length === 0 ? [id] : group.map((letter) => letter.id);
}

/** Reads at most half of `SEARCHED_MAX` letters. */
async function lettersNextTo(letters: AsyncGenerator<StreamEntry>): Promise<StreamEntry[]> {
  const found: StreamEntry[] = [];
  for await (const letter of letters) {
    found.push(letter);
    if (found.length >= SEARCHED_MAX / 2) break;
  }
  return found;
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
    /** The id of a chat's newest dead letter, or of the letter of `entry`. Skips operators' commands. */
    async newest(chat: ChatKey, entry?: string): Promise<string | undefined> {
      let letters = 0;
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '+', { page: PAGE, isBackwards: true })) {
        if (isOf(fields, chat, entry) && !isDeskLane(laneIn(fields))) return id;
        letters += 1;
        if (letters >= SEARCHED_MAX) break;
      }
      return undefined;
    },
    /** Puts a letter's message back at the end of its lane, with all of its pieces. Does nothing if the letter is gone. */
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
