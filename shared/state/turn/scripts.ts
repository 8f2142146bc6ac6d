import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { EntryId, Keys } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';

/** The scripts of an attempt at a message: its beginning, and its fenced writes. `Begun` is the reply of `begin.lua`. */
export function bindTurnScripts<Begun>(redis: RedisClient): { begin: RunScript<Begun>; write: RunScript<string> } {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  return { begin: script<Begun>('begin'), write: script<string>('write') };
}

/** Reads of a turn from outside of its attempt. Methods reject when Redis cannot be reached. */
export function turnReads(redis: RedisClient, keys: Pick<Keys, 'turn'>) {
  return {
    /** The stored conclusion, as text; null when there is none. */
    conclusionOf: (entry: EntryId): Promise<string | null> => redis.hget(keys.turn(entry), 'conclusion'),
    isCancelled: async (entry: EntryId): Promise<boolean> => (await redis.hexists(keys.turn(entry), 'cancelled')) === 1,
    isRunning: async (entry: EntryId): Promise<boolean> => (await redis.hexists(keys.turn(entry), 'running')) === 1,
    fieldsOf: (entry: EntryId): Promise<Record<string, string>> => redis.hgetall(keys.turn(entry)),
  };
}
