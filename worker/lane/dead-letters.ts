import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, chatOf, type Keys, type LaneKey } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';

/** What became of a dead letter that was to be put back: `chatless` ones name no chat, and stay. */
export type Replayed = ['replayed', entry: string] | ['gone' | 'chatless', ''];

/** Puts a dead letter back at the end of its lane, once. Contract: rejects when Redis cannot be reached. Idempotent. */
export type Replay = (keys: Keys, id: string) => Promise<Replayed>;

/**
 * The failed messages of one shard, as its chats see them. Contract: each method rejects when Redis cannot be reached.
 */
export interface DeadLetters {
  /** The id of the newest failed message of a chat, or of the one with that entry. */
  newest(chat: ChatKey, entry?: string): Promise<string | undefined>;
  /** Puts it back at the end of its lane. One that is gone changes nothing. */
  replay(id: string): Promise<void>;
  /** Removes all of a chat. */
  erase(chat: ChatKey): Promise<void>;
}

const PAGE = 100;
/** Only so many letters are looked through for a person's `/retry`. */
const LOOKED_AT_MAX = 2_000;

/** Binds the putting back of dead letters to a connection. */
export function bindReplay(redis: RedisClient): Replay {
  const run = bindScript<Replayed>(redis, join(import.meta.dirname, 'replay.lua'));
  return (keys, id) => run([keys.dead, keys.inbound, keys.counts, keys.absent], [id, keys.turnPrefix]);
}

/** The dead letters of a shard, over a connection. */
export function createDeadLetters(redis: RedisClient, keys: Keys): DeadLetters {
  const replay = bindReplay(redis);
  return {
    async newest(chat, entry) {
      let before = '+';
      for (let looked = 0; looked < LOOKED_AT_MAX; looked += PAGE) {
        const page = await redis.xrevrange(keys.dead, before, '-', 'COUNT', PAGE);
        const found = page.find(([, fields]) => isOf(fields, chat, entry));
        if (found) return found[0];
        const last = page.at(-1)?.[0];
        if (last === undefined || page.length < PAGE) return undefined;
        before = `(${last}`;
      }
      return undefined;
    },
    async replay(id) {
      await replay(keys, id);
    },
    async erase(chat) {
      for (let from = '-'; ; ) {
        const page = await redis.xrange(keys.dead, from, '+', 'COUNT', PAGE);
        const own = page.filter(([, fields]) => isOf(fields, chat, undefined)).map(([id]) => id);
        if (own.length > 0) await redis.xdel(keys.dead, ...own);
        const last = page.at(-1)?.[0];
        if (last === undefined || page.length < PAGE) return;
        from = `(${last}`;
      }
    },
  };
}

/** Our own fields stand first in a letter; the entry's own may have any name. */
function isOf(fields: readonly string[], chat: ChatKey, entry: string | undefined): boolean {
  const field = (name: string) => fields.find((_, at) => at % 2 === 1 && fields[at - 1] === name);
  if (entry !== undefined && field('entry') !== entry) return false;
  return chatOf((field('chat') ?? '') as LaneKey) === chat;
}
