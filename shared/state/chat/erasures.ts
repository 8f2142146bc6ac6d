import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

type ShardKeys = Pick<Keys, 'erasures'>;

/** Notes that a chat was erased: its text is still in the files of Redis. For the write that erases. */
export function noteErasure({ erasures }: ShardKeys): Change {
  return ['SADD', erasures, randomUUID()];
}

/** Whether there are erasures that are not settled. Rejects when Redis cannot be reached. */
export async function hasErasures(redis: RedisClient, { erasures }: ShardKeys): Promise<boolean> {
  return (await redis.exists(erasures)) > 0;
}

/**
 * Runs `clean` when there are erasures, and removes those that were noted before it began. Rejects when `clean` does, which
 * leaves all of them for the next call, and when Redis cannot be reached.
 */
export async function settleErasures(
  redis: RedisClient,
  { erasures }: ShardKeys,
  clean: () => Promise<void>,
): Promise<void> {
  const noted = await redis.smembers(erasures);
  if (noted.length === 0) return;
  await clean();
  await redis.srem(erasures, ...noted);
}
