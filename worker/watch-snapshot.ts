import { readHeartbeat } from '../shared/heartbeat.ts';
import { type ChatKey, type EntryId, type Keys, keysOf } from '../shared/keys.ts';
import { type RedisClient, serversOf } from '../shared/redis.ts';
import { REPLIED } from './attempt.ts';
import type { ShardSnapshot, Snapshot } from './watch-rules.ts';

/** So many of the oldest are looked at: more are hardly ever tidied up at once. */
const OLDEST_MAX = 16;
/** The time of the server that holds the key: the heartbeat is by the same clock. */
const TIME = "return redis.call('TIME')";

/**
 * Reads the state of the flow. What is open is read first: an incident that was opened later is not judged by what was
 * seen before. Rejects when Redis cannot be reached.
 */
export async function readSnapshot(redis: RedisClient, shards: number): Promise<Snapshot> {
  const keys = keysOf(0);
  const open = openIncidents(await redis.hgetall(keys.watch));
  const [seconds, microseconds] = (await redis.eval(TIME, 1, keys.watch)) as [number, number];
  const [poll, memory, ...seen] = await Promise.all([
    readHeartbeat(redis, keys),
    fullestMemory(redis),
    ...Array.from({ length: shards }, (_, shard) => readShard(redis, shard)),
  ]);
  return { nowMs: Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000), open, poll, memory, shards: seen };
}

/** Each server has its own; it is the first to be full that refuses messages. */
async function fullestMemory(redis: RedisClient): Promise<Snapshot['memory']> {
  const all = await Promise.all(serversOf(redis).map(async (server) => memoryOf(await server.info('memory'))));
  return all.reduce((fullest, each) => (shareOf(each) > shareOf(fullest) ? each : fullest));
}

/** Without a limit none is ever full, and the largest is as good as any. */
function shareOf({ usedBytes, maxBytes }: Snapshot['memory']): number {
  return maxBytes === 0 ? 0 : usedBytes / maxBytes;
}

async function readShard(redis: RedisClient, shard: number): Promise<ShardSnapshot> {
  const keys = keysOf(shard);
  const [unanswered, oldest, jobsWaiting, jobsActive, oldestAlertMs] = await Promise.all([
    redis.xlen(keys.inbound),
    oldestMessage(redis, keys),
    redis.llen(keys.jobsWaiting),
    redis.llen(keys.jobsActive),
    oldestAlert(redis, keys),
  ]);
  return {
    shard,
    unanswered,
    jobsWaiting,
    jobsActive,
    ...(oldest && { oldest }),
    ...(oldestAlertMs !== undefined && { oldestAlertMs }),
  };
}

/** A settled message is deleted from the stream, so what is left is unanswered, but for those that only tidy up. */
async function oldestMessage(redis: RedisClient, keys: Keys): Promise<ShardSnapshot['oldest']> {
  const oldest = await redis.xrange(keys.inbound, '-', '+', 'COUNT', OLDEST_MAX);
  const replied = await Promise.all(oldest.map(([entry]) => redis.hexists(keys.turn(entry as EntryId), REPLIED)));
  const first = oldest.find((_, at) => replied[at] === 0);
  if (first === undefined) return undefined;
  const [entry, fields] = first;
  const field = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
  return {
    entry: entry as EntryId,
    acceptedMs: msOf(entry),
    chat: (fields.includes('chat') ? field('chat') : 'unknown') as ChatKey,
    traceId: fields.includes('traceparent') ? (field('traceparent').split('-')[1] ?? '') : '',
  };
}

/** A sent alert is deleted from the stream. */
async function oldestAlert(redis: RedisClient, keys: Keys): Promise<number | undefined> {
  const [first] = await redis.xrange(keys.alerts, '-', '+', 'COUNT', 1);
  return first && msOf(first[0]);
}

/** Beside each incident the hash holds when it was last told of, under a name with a colon. */
function openIncidents(fields: Record<string, string>): Map<string, number> {
  const open = Object.entries(fields).filter(([name]) => !name.includes(':'));
  return new Map(open.map(([name, openedMs]) => [name, Number(openedMs)]));
}

function memoryOf(info: string): Snapshot['memory'] {
  const number = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { usedBytes: number('used_memory'), maxBytes: number('maxmemory') };
}

/** The id of an entry begins with the time at which Redis took it. */
function msOf(id: string): number {
  return Number(id.split('-')[0]);
}
