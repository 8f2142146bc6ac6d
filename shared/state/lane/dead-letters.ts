import { join } from 'node:path';
import { jsonFields } from '../../base/fields.ts';
import { decodeMessage, piecesOf, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, isDeskLane, type Keys, keysOf, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { entriesFrom, fieldIn, inSlices, msOf, type StreamEntry } from '../../redis/stream.ts';
import type { OutcomeRecord } from './record-streams.ts';

/** A failed message as it is kept, without its text: there may be many. */
export interface DeadLetter {
  /** The operator's name for it: the id in its stream, after its shard where there are several. */
  name: string;
  id: string;
  /** The entry of the message that failed, as alerts have it. */
  entry: string;
  keys: Keys;
  /** Whether it is what an operator did: put back among others, it would be done at a time when nobody means it. */
  isOfDesk: boolean;
  /** How it ended; empty when that cannot be read. */
  record: Partial<OutcomeRecord>;
}

/** The name of a dead letter: the id of its stream or of its message, after its shard where there are several. */
export const LETTER_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
const PAGE = 100;

/**
 * The dead letters of a name: its own id, or the entry of its message, as alerts and the log have it. Each stream makes its
 * own ids, so the same id may exist in several shards. Rejects when Redis cannot be reached.
 */
export async function lettersNamed(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter[]> {
  const [, shard, id = ''] = LETTER_NAME.exec(name) ?? [];
  const asked = [...shards.keys()].filter((at) => shard === undefined || Number(shard) === at);
  const own = await Promise.all(
    asked.map(async (at) => (await redis.xrange(keysOf(at).dead, id, id)).map((entry) => letterOf(shards, at, entry))),
  );
  return own.flat().length > 0 ? own.flat() : lettersOfEntry(redis, shards, asked, id);
}

/** There is nothing of that name, or there is more than one; the message says what to do. */
export class UnknownNameError extends Error {
  override readonly name = 'UnknownNameError';
}

/** The dead letter of a name, as at `lettersNamed`. Throws `UnknownNameError`. */
export async function findLetter(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter> {
  const [letter, ...others] = await lettersNamed(redis, shards, name);
  if (letter === undefined) throw new UnknownNameError(unknownLetter(name));
  if (others.length === 0) return letter;
  const names = [letter, ...others].map((each) => each.name).join(', ');
  throw new UnknownNameError(`There are ${others.length + 1} dead letters ${name}: say which one, ${names}.`);
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

/** A field of a dead letter by its id: the entry of its message, or the message as it was stored, with its user's words. */
export async function fieldOfLetter(
  redis: RedisClient,
  keys: Keys,
  id: string,
  field: 'entry' | 'message',
): Promise<string | undefined> {
  const [letter] = await redis.xrange(keys.dead, id, id);
  return letter && fieldIn(letter[1], field);
}

/** Removes a dead letter for good. Returns false when it was gone. */
export async function removeLetter(redis: RedisClient, { keys, id }: DeadLetter): Promise<boolean> {
  return (await redis.xdel(keys.dead, id)) === 1;
}

/** How many letters a shard has, and how many were ever removed because there were too many. */
export async function countLetters(redis: RedisClient, { dead, counts }: Keys) {
  const [kept, dropped] = await Promise.all([redis.xlen(dead), redis.hget(counts, 'lettersDropped')]);
  return { kept, dropped: Number(dropped ?? 0) };
}

/** The most letters that are counted one by one. */
const LETTERS_COUNTED_MAX = 1_000;

/**
 * Binds the count of the letters of a shard that failed in a time (ms since the epoch, both inclusive); without one, of those
 * that nobody has closed. Contract: the returned function rejects when Redis cannot be reached.
 */
export function bindLetterCount(redis: RedisClient) {
  const count = bindScript<number>(redis, join(import.meta.dirname, 'count-letters.lua'));
  return ({ dead, counts }: Keys, sinceMs?: number, untilMs?: number): Promise<number> =>
    count([dead, counts], [sinceMs ?? '', untilMs ?? '', LETTERS_COUNTED_MAX]);
}

/** Closes the letters that a shard has now: they stay, and are not among those that wait for an operator any more. */
export async function closeLetters(redis: RedisClient, { counts }: Keys, nowMs: number): Promise<void> {
  await redis.hset(counts, 'lettersClosedMs', nowMs);
}

/** How many letters of all shards were ever removed because there were too many. */
export async function countDropped(redis: RedisClient, shards: readonly Keys[]): Promise<number> {
  const counts = await Promise.all(shards.map((keys) => countLetters(redis, keys)));
  return counts.reduce((sum, { dropped }) => sum + dropped, 0);
}

/**
 * Binds the removal of a shard's oldest letters beyond a number, some at a time. Returns the ledger record of each, as
 * JSON. Contract: the returned function rejects when Redis cannot be reached.
 */
export function bindDrop(redis: RedisClient): (keys: Keys, keptMax: number) => Promise<string[]> {
  const drop = bindScript<string[]>(redis, join(import.meta.dirname, 'drop-letters.lua'));
  return ({ dead, counts }, keptMax) => drop([dead, counts], [keptMax, DROPPED_AT_ONCE]);
}

const DROPPED_AT_ONCE = 100;

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

/** A letter as it is listed. Pure. */
export function letterOf(shards: readonly Keys[], shard: number, [id, fields]: StreamEntry): DeadLetter {
  const name = shards.length === 1 ? id : `${shard}/${id}`;
  const message = fieldIn(fields, 'entry') ?? '';
  const record = jsonFields(fieldIn(fields, 'record')) ?? {};
  return { name, id, entry: message, keys: keysOf(shard), isOfDesk: isDeskLane(laneIn(fields)), record };
}

/**
 * What became of a dead letter that was to be put back: `chatless` ones name no chat, and stay. `unfinished`: a piece of
 * its message still waits to be put aside.
 */
export type Replayed = ['replayed', entry: string] | ['gone' | 'chatless' | 'unfinished', ''];

/** Only so many letters are looked through for a person's `/retry`, and for pieces before and behind one. */
const LOOKED_AT_MAX = 2_000;

/**
 * Puts dead letters of one chat back at the end of its lane, once and in one step: those that are named, or one with all
 * pieces of the message that it was one of.
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

/** A failed message that may be a piece of another one, or have pieces. */
interface Piece extends Waiting {
  id: string;
  /** The entry of the message into which it was merged. */
  into: string | undefined;
}

/** The letters of all pieces of a message, in order, by the letter of one of them: as they are merged, or were. */
async function piecesWith(redis: RedisClient, keys: Keys, id: string): Promise<string[]> {
  const [chosen] = await redis.xrange(keys.dead, id, id);
  const chat = chosen && fieldIn(chosen[1], 'chat');
  if (!chat) return [id];
  const letters: Piece[] = [];
  const note = (page: readonly StreamEntry[]) => letters.push(...page.flatMap((each) => pieceOf(each, chat)));
  const before = await lettersBehind(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE, isBackwards: true }));
  note(before.toReversed());
  note([chosen]);
  note(await lettersBehind(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE })));
  const isChosen = (letter: Piece) => letter.id === id;
  const groupOf = (first: Piece, at: number): Piece[] => {
    const pieces = piecesOf(first.message, letters.slice(at + 1)).map(({ entry }) => entry);
    return [first, ...letters.filter(({ entry, into }) => into === first.entry || pieces.includes(entry))];
  };
  const group = letters.map(groupOf).find((each) => each.some(isChosen)) ?? [];
  return group.length === 0 ? [id] : group.map((letter) => letter.id);
}

/** The letters next to one, up to a bound. */
async function lettersBehind(letters: AsyncGenerator<StreamEntry>): Promise<StreamEntry[]> {
  const found: StreamEntry[] = [];
  for await (const letter of letters) {
    found.push(letter);
    if (found.length >= LOOKED_AT_MAX / 2) break;
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

/** The failed messages of one shard, as its chats see them. Each method rejects when Redis cannot be reached. */
export function createDeadLetters(redis: RedisClient, keys: Keys) {
  const replay = bindReplay(redis);
  return {
    /** The id of the newest failed message of a chat, or of the one with that entry; none of what only operators may do. */
    async newest(chat: ChatKey, entry?: string): Promise<string | undefined> {
      let looked = 0;
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '+', { page: PAGE, isBackwards: true })) {
        if (isOf(fields, chat, entry) && !isDeskLane(laneIn(fields))) return id;
        looked += 1;
        if (looked >= LOOKED_AT_MAX) break;
      }
      return undefined;
    },
    /** Puts it back at the end of its lane, with all pieces of its message. One that is gone changes nothing. */
    async replay(id: string): Promise<void> {
      await replay.withPieces(keys, id);
    },
    /** Removes all of a chat. */
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
