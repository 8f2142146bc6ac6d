import { REDIS_RISKS, type RedisRisk } from '../base/redis-settings.ts';
import { type RedisClient, serversOf } from './connection.ts';
import { keysOf } from './keys.ts';
import { readServer } from './server-state.ts';

/** The dangers to the data in an installation's Redis servers. */
export interface Keeping {
  /** Set if a Redis would lose messages even without a failure: the problem and its remedy. The gateway then does not start. */
  refusal?: string;
  /** The risks of these servers that the operator has not accepted. */
  risks: RedisRisk[];
}

/**
 * Reads how each server endangers data, with commands that managed servers also allow. Skips a server that does not
 * answer. A server that does not reveal whether it writes to disk counts as not writing.
 */
export async function readKeeping(redis: RedisClient, accepted: readonly RedisRisk[] = []): Promise<Keeping> {
  const results = await Promise.allSettled(serversOf(redis).map(readServer));
  const all = results.flatMap((state) => (state.status === 'fulfilled' ? [state.value] : []));
  const evicts = all.find((state) => state.evicts !== undefined)?.evicts;
  const isPresent: Record<RedisRisk, boolean> = {
    volatile: all.some(({ isOnDisk }) => isOnDisk !== true),
    unlimited: all.some(({ maxBytes }) => maxBytes === 0),
  };
  const risks = REDIS_RISKS.filter((risk) => isPresent[risk] && !accepted.includes(risk));
  return { ...(evicts !== undefined && { refusal: evictionInWords(evicts) }), risks };
}

/** The description of a risk, with its remedy. Pure. */
export function wordsOf(risk: RedisRisk): string {
  const { may, setting } = RISKS[risk];
  return `Redis ${may}. Run CONFIG SET ${setting}, and write it into redis.conf; or accept the risk with REDIS_ACCEPT=${risk}.`;
}

const RISKS: Readonly<Record<RedisRisk, { may: string; setting: string }>> = {
  volatile: {
    may: 'has neither an append-only file nor snapshots: when it stops, all conversations and waiting messages are lost',
    setting: 'appendonly yes',
  },
  unlimited: {
    may: 'has no memory limit, so the system may kill it; with a limit, a full Redis only leaves new messages with Telegram',
    setting: 'maxmemory 512mb (or another limit)',
  },
};

/** The description of a Redis that evicts data, with its remedy. Pure. */
export function evictionInWords(policy: string): string {
  return `Redis deletes data when it is full (maxmemory-policy ${policy}), so messages and conversations would be lost. Run CONFIG SET maxmemory-policy noeviction, and write it into redis.conf.`;
}

/**
 * Stores the number of shards in Redis, unless Redis has a number already. Returns a sentence about the problem if that number
 * differs from `shards`, because the gateway would then look for chats in the wrong shards.
 */
export async function noteShards(redis: RedisClient, shards: number): Promise<string | undefined> {
  // A full Redis refuses SETNX even for an existing key, and the gateway must start on a full Redis.
  if ((await redis.get(keysOf(0).shards)) === null) await redis.setnx(keysOf(0).shards, shards);
  return shardsProblem(redis, shards);
}

/** The check of `noteShards` without its write. `undefined` also if Redis has no number. */
export async function shardsProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const stored = await redis.get(keysOf(0).shards);
  if (stored === null || stored === String(shards)) return undefined;
  return `SHARDS is ${shards}, but the data in this Redis was written with SHARDS=${stored}, and the number cannot change with data in place. Set SHARDS=${stored}.`;
}
