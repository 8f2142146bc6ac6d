import { REDIS_RISKS, type RedisRisk } from '../base/redis-settings.ts';
import { type RedisClient, serversOf } from './connection.ts';
import { keysOf } from './keys.ts';
import { readServer } from './server-state.ts';

/** How the servers of an installation keep its data. */
export interface Keeping {
  /** Why messages are lost while all goes well; such a Redis is not used. */
  refusal?: string;
  /** The risks that the operator has not accepted. */
  risks: RedisRisk[];
}

/**
 * Asks every server how it keeps its data. It is asked for what managed ones tell, too; a server that does not answer
 * is not judged, and one that does not tell when it writes to disk counts as one that does not.
 */
export async function readKeeping(redis: RedisClient, accepted: readonly RedisRisk[] = []): Promise<Keeping> {
  const asked = await Promise.allSettled(serversOf(redis).map(readServer));
  const all = asked.flatMap((state) => (state.status === 'fulfilled' ? [state.value] : []));
  const evicts = all.find((state) => state.evicts !== undefined)?.evicts;
  const isRun: Record<RedisRisk, boolean> = {
    volatile: all.some(({ isOnDisk }) => isOnDisk !== true),
    unlimited: all.some(({ maxBytes }) => maxBytes === 0),
  };
  const risks = REDIS_RISKS.filter((risk) => isRun[risk] && !accepted.includes(risk));
  return { ...(evicts !== undefined && { refusal: evictionInWords(evicts) }), risks };
}

/** A risk in words, with what to do. Pure. */
export function wordsOf(risk: RedisRisk): string {
  const { may, setting } = RISKS[risk];
  return `Redis ${may}. CONFIG SET ${setting}, and put it into redis.conf; or accept it with REDIS_ACCEPT=${risk}.`;
}

const RISKS: Readonly<Record<RedisRisk, { may: string; setting: string }>> = {
  volatile: {
    may: 'shows neither an append-only file nor snapshots: when it ends, all conversations and all waiting messages are lost',
    setting: 'appendonly yes',
  },
  unlimited: {
    may: 'has no memory limit: the system may end it, where a full one would only leave messages with Telegram',
    setting: 'maxmemory 512mb (what it may take)',
  },
};

/** The problem of a Redis that evicts, with the command that ends it. Pure. */
export function evictionInWords(policy: string): string {
  return `Redis evicts data when it is full (maxmemory-policy ${policy}): messages and conversations would be lost. CONFIG SET maxmemory-policy noeviction, and put it into redis.conf.`;
}

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
