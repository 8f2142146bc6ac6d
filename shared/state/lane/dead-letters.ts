import { join } from 'node:path';
import { decodeMessage, piecesOf, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { entriesFrom, fieldIn, type StreamEntry } from '../../redis/stream.ts';

/**
 * What became of a dead letter that was to be put back: `chatless` ones name no chat, and stay. `unfinished`: a piece of
 * its message still waits to be put aside.
 */
export type Replayed = ['replayed', entry: string] | ['gone' | 'chatless' | 'unfinished', ''];

/**
 * Puts a dead letter back at the end of its lane, once: alone, or with all pieces of the message that it was one of.
 * Contract: rejects when Redis cannot be reached. Idempotent.
 */
export interface Replay {
  alone(keys: Keys, id: string): Promise<Replayed>;
  withPieces(keys: Keys, id: string): Promise<Replayed>;
}

/**
 * The failed messages of one shard, as its chats see them. Contract: each method rejects when Redis cannot be reached.
 */
export interface DeadLetters {
  /** The id of the newest failed message of a chat, or of the one with that entry. */
  newest(chat: ChatKey, entry?: string): Promise<string | undefined>;
  /** Puts it back at the end of its lane, with all pieces of its message. One that is gone changes nothing. */
  replay(id: string): Promise<void>;
  /** Removes all of a chat. */
  erase(chat: ChatKey): Promise<void>;
}

const PAGE = 100;
/** Only so many letters are looked through for a person's `/retry`, and for pieces before and behind one. */
const LOOKED_AT_MAX = 2_000;

/** Binds the putting back of dead letters to a connection. */
export function bindReplay(redis: RedisClient): Replay {
  const run = bindScript<Replayed>(redis, join(import.meta.dirname, 'replay.lua'));
  const at = ({ dead, inbound, counts, absent }: Keys) => [dead, inbound, counts, absent];
  return {
    alone: (keys, id) => run(at(keys), [keys.turnPrefix, '', id]),
    withPieces: async (keys, id) => run(at(keys), [keys.turnPrefix, 1, ...(await piecesWith(redis, keys, id))]),
  };
}

/** A failed message that may be a piece of another one, or have pieces. */
interface Letter extends Waiting {
  id: string;
  /** The entry of the message into which it was merged. */
  into: string | undefined;
}

/** The letters of all pieces of a message, in order, by the letter of one of them: as they are merged, or were. */
async function piecesWith(redis: RedisClient, keys: Keys, id: string): Promise<string[]> {
  const [chosen] = await redis.xrange(keys.dead, id, id);
  const chat = chosen && fieldIn(chosen[1], 'chat');
  if (!chat) return [id];
  const letters: Letter[] = [];
  const note = (page: readonly StreamEntry[]) => letters.push(...page.flatMap((each) => letterOf(each, chat)));
  const before = await lettersBehind(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE, isBackwards: true }));
  note(before.toReversed());
  note([chosen]);
  note(await lettersBehind(entriesFrom(redis, keys.dead, `(${id}`, { page: PAGE })));
  const isChosen = (letter: Letter) => letter.id === id;
  const groupOf = (first: Letter, at: number): Letter[] => {
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

function letterOf([id, fields]: StreamEntry, chat: string): Letter[] {
  const message = decodeMessage(fieldIn(fields, 'message'));
  if (fieldIn(fields, 'chat') !== chat || !message.ok) return [];
  const into = /"into":"(\d+-\d+)"/.exec(fieldIn(fields, 'record') ?? '')?.[1];
  return [{ id, entry: (fieldIn(fields, 'entry') ?? '') as EntryId, message: message.value, into }];
}

/** The dead letters of a shard, over a connection. */
export function createDeadLetters(redis: RedisClient, keys: Keys): DeadLetters {
  const replay = bindReplay(redis);
  return {
    async newest(chat, entry) {
      let looked = 0;
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '+', { page: PAGE, isBackwards: true })) {
        if (isOf(fields, chat, entry)) return id;
        looked += 1;
        if (looked >= LOOKED_AT_MAX) break;
      }
      return undefined;
    },
    async replay(id) {
      await replay.withPieces(keys, id);
    },
    async erase(chat) {
      for await (const [id, fields] of entriesFrom(redis, keys.dead, '-', { page: PAGE }))
        if (isOf(fields, chat, undefined)) await redis.xdel(keys.dead, id);
    },
  };
}

function isOf(fields: readonly string[], chat: ChatKey, entry: string | undefined): boolean {
  if (entry !== undefined && fieldIn(fields, 'entry') !== entry) return false;
  return chatOf((fieldIn(fields, 'chat') ?? '') as LaneKey) === chat;
}
