import type { RedisClient } from './connection.ts';
import { keysOf } from './keys.ts';

/**
 * Stores the number of shards in Redis, unless one is stored already. Returns the problem, in a sentence, when the data
 * was begun with another number: chats would then be looked up in the wrong place.
 *
 * Contract: of several processes that begin at once one is first; the others agree with it or get the problem. Rejects
 * when Redis cannot be reached.
 */
export async function noteShards(redis: RedisClient, shards: number): Promise<string | undefined> {
  // A full Redis takes no write, and a gateway must be able to start on it.
  if ((await redis.get(keysOf(0).shards)) === null) await redis.setnx(keysOf(0).shards, shards);
  return shardsProblem(redis, shards);
}

/** The same check for a reader: it stores nothing, and data without a number fits any. */
export async function shardsProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const noted = await redis.get(keysOf(0).shards);
  if (noted === null || noted === String(shards)) return undefined;
  return `SHARDS is ${shards}, but the data in this Redis was begun with SHARDS=${noted}, and it cannot be changed on living data. Set SHARDS=${noted}.`;
}
