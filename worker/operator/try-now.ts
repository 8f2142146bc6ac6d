import { traceIdsOnly } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys } from '../../shared/redis/keys.ts';
import { openQueue } from '../lane/queue.ts';

/** Ends the delay of a message's job, if it has one. Idempotent; rejects when Redis cannot be reached. */
export async function tryNow(redis: RedisClient, keys: Keys, entry: EntryId): Promise<void> {
  const queue = openQueue(redis, keys, traceIdsOnly());
  try {
    await queue.promote([entry]);
  } finally {
    await queue.close();
  }
}
