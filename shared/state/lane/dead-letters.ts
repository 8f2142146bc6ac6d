import { join } from 'node:path';
import { decodeMessage, piecesOf, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

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

type Page = [id: string, fields: string[]][];

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
  const note = (page: Page) => letters.push(...page.flatMap((each) => letterOf(each, chat)));
  const before = await lettersBehind((from) => redis.xrevrange(keys.dead, from, '-', 'COUNT', PAGE), id);
  note(before.toReversed());
  note([chosen]);
  note(await lettersBehind((from) => redis.xrange(keys.dead, from, '+', 'COUNT', PAGE), id));
  const isChosen = (letter: Letter) => letter.id === id;
  const groupOf = (first: Letter, at: number): Letter[] => {
    const pieces = piecesOf(first.message, letters.slice(at + 1)).map(({ entry }) => entry);
    return [first, ...letters.filter(({ entry, into }) => into === first.entry || pieces.includes(entry))];
  };
  const group = letters.map(groupOf).find((each) => each.some(isChosen)) ?? [];
  return group.length === 0 ? [id] : group.map((letter) => letter.id);
}

/** The letters of a range page by page, as far as somebody reads on. */
async function* pagesOf(read: (from: string) => Promise<Page>, begin: string): AsyncGenerator<Page> {
  for (let from = begin; ; ) {
    const page = await read(from);
    yield page;
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
}

/** The letters next to one, up to a bound. */
async function lettersBehind(read: (from: string) => Promise<Page>, id: string): Promise<Page> {
  const found: Page = [];
  for await (const page of pagesOf(read, `(${id}`)) {
    found.push(...page);
    if (found.length >= LOOKED_AT_MAX / 2) break;
  }
  return found;
}

function letterOf([id, fields]: Page[number], chat: string): Letter[] {
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
      for await (const page of pagesOf((from) => redis.xrevrange(keys.dead, from, '-', 'COUNT', PAGE), '+')) {
        const found = page.find(([, fields]) => isOf(fields, chat, entry));
        looked += page.length;
        if (found || looked >= LOOKED_AT_MAX) return found?.[0];
      }
      return undefined;
    },
    async replay(id) {
      await replay.withPieces(keys, id);
    },
    async erase(chat) {
      for await (const page of pagesOf((from) => redis.xrange(keys.dead, from, '+', 'COUNT', PAGE), '-')) {
        const own = page.filter(([, fields]) => isOf(fields, chat, undefined)).map(([id]) => id);
        if (own.length > 0) await redis.xdel(keys.dead, ...own);
      }
    },
  };
}

function isOf(fields: readonly string[], chat: ChatKey, entry: string | undefined): boolean {
  if (entry !== undefined && fieldIn(fields, 'entry') !== entry) return false;
  return chatOf((fieldIn(fields, 'chat') ?? '') as LaneKey) === chat;
}

/** Our own fields stand first in a letter; the entry's own may have any name. */
function fieldIn(fields: readonly string[], name: string): string | undefined {
  return fields.find((_, at) => at % 2 === 1 && fields[at - 1] === name);
}
