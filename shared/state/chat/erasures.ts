import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { pause } from '../../base/lifecycle.ts';
import { type RedisClient, serversOf } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

type ShardKeys = Pick<Keys, 'erasures'>;

const LOOK_MS = 100;

/** Stores that a chat was erased but its text may still be in the files of Redis. For the write that erases the chat. */
export function noteErasure({ erasures }: ShardKeys): Change {
  return ['SADD', erasures, randomUUID()];
}

/**
 * Removes erased text from the append-only file of a private Redis; for any other Redis, its operator must do so. Returns
 * whether there was an erasure since the last successful call. Rejects if the text may still be in the file, e.g. because
 * `signal` aborts the wait; the next call then starts over.
 */
export async function removeErasedText(
  redis: RedisClient,
  { erasures }: ShardKeys,
  isPrivate: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const ids = await redis.smembers(erasures);
  if (ids.length === 0) return false;
  if (isPrivate) for (const server of serversOf(redis)) await rewriteAppendOnlyFile(server, signal);
  await redis.srem(erasures, ...ids);
  return true;
}

/** Rewrites the append-only file. Rejects if the rewrite fails, or if the server restarts meanwhile and forgets the rewrite. */
async function rewriteAppendOnlyFile(server: Redis, signal: AbortSignal): Promise<void> {
  // By default, the new file would begin with a snapshot, in which entries that were deleted from a stream remain.
  await server.config('SET', 'aof-use-rdb-preamble', 'no');
  const run = /^run_id:\w+/m.exec(await untilIdle(server, signal))?.[0] ?? '';
  await server.bgrewriteaof();
  const after = await untilIdle(server, signal);
  if (!after.includes(run) || !after.includes('aof_last_bgrewrite_status:ok'))
    throw new Error('Redis did not finish the rewrite of its append-only file.');
}

/** Waits for the end of a running or scheduled rewrite. Returns the server's `INFO`. */
async function untilIdle(server: Redis, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const info = await server.info();
    if (!/^aof_rewrite_(?:in_progress|scheduled):1/m.test(info)) return info;
    await pause(LOOK_MS, signal);
  }
}
