import type { RedisClient } from './connection.ts';
import { keysOf } from './keys.ts';

/**
 * Notes in Redis how many shards there are, unless it is noted already. Answers what is wrong, in a sentence, when the
 * data was begun with another number: then chats would be looked for where they are not.
 *
 * Contract: of several processes that begin at once one is first, and the others agree with it or are told. Rejects when
 * Redis cannot be reached.
 */
export async function noteShards(redis: RedisClient, shards: number): Promise<string | undefined> {
  await redis.setnx(keysOf(0).shards, shards);
  return shardsProblem(redis, shards);
}

/** The same for whoever only looks: nothing is noted, and data that tells no number fits any. */
export async function shardsProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const noted = await redis.get(keysOf(0).shards);
  if (noted === null || noted === String(shards)) return undefined;
  return `SHARDS is ${shards}, but the data in this Redis was begun with SHARDS=${noted}, and it cannot be changed on living data. Set SHARDS=${noted}.`;
}
