import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { pause } from '../../base/lifecycle.ts';
import { type RedisClient, serversOf } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

type ShardKeys = Pick<Keys, 'erasures'>;

const LOOK_MS = 100;

/** Notes that a chat was erased: its text is still in the files of Redis. For the write that erases. */
export function noteErasure({ erasures }: ShardKeys): Change {
  return ['SADD', erasures, randomUUID()];
}

/**
 * Removes erased text from the files of our private Redis, where there is any; the files of another Redis are its operator's.
 * Returns whether there was an erasure. Rejects when a text may still be there, also when `signal` aborts the wait: the same
 * call then begins again.
 */
export async function removeErasedText(
  redis: RedisClient,
  { erasures }: ShardKeys,
  isPrivate: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const noted = await redis.smembers(erasures);
  if (noted.length === 0) return false;
  if (isPrivate) for (const server of serversOf(redis)) await rewriteAppendOnlyFile(server, signal);
  await redis.srem(erasures, ...noted);
  return true;
}

/** Resolves when the old files are gone. A server that was started again knows nothing of an earlier rewrite. */
async function rewriteAppendOnlyFile(server: Redis, signal: AbortSignal): Promise<void> {
  // In the form of a snapshot, which is the default, the file would keep entries that were deleted from a stream.
  await server.config('SET', 'aof-use-rdb-preamble', 'no');
  const run = /^run_id:\w+/m.exec(await untilIdle(server, signal))?.[0] ?? '';
  await server.bgrewriteaof();
  const after = await untilIdle(server, signal);
  if (!after.includes(run) || !after.includes('aof_last_bgrewrite_status:ok'))
    throw new Error('Redis did not finish the rewrite of its append-only file.');
}

/** Waits for a rewrite that runs or is about to, and returns what the server then says about itself. */
async function untilIdle(server: Redis, signal: AbortSignal): Promise<string> {
  for (;;) {
    signal.throwIfAborted();
    const info = await server.info();
    if (!/^aof_rewrite_(?:in_progress|scheduled):1/m.test(info)) return info;
    await pause(LOOK_MS, signal);
  }
}
