import type { AllowedIds } from '../../base/settings.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { type Order, readOrders } from '../orders.ts';

/** How long a reading of the list counts: who is taken off it is heard no longer than that. */
const AGE_MS_MAX = 1_000;

/**
 * The current allow list: the ids of the settings, and those that an operator has let in since (`cli allow`). Calls
 * within a second of a reading share it, also while it is read.
 *
 * Contract: rejects when Redis cannot be reached; nobody is let in, or kept out, by a list that is older than a second.
 */
export function allowedNow(
  redis: Pick<RedisClient, 'hkeys'>,
  base: AllowedIds,
  ageMsMax = AGE_MS_MAX,
): () => Promise<AllowedIds> {
  if (base === 'everyone') return async () => base;
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<AllowedIds> = Promise.resolve(base);
  const read = async (): Promise<AllowedIds> =>
    new Set([...base, ...(await redis.hkeys(keysOf(0).allowed)).map(Number)]);
  return () => {
    const nowMs = performance.now();
    if (nowMs - readMs < ageMsMax) return reading;
    readMs = nowMs;
    reading = read();
    // One that failed is made again by whoever asks next.
    reading.catch(() => {
      readMs = Number.NEGATIVE_INFINITY;
    });
    return reading;
  };
}

/** Who was let in besides the ids of the settings, oldest first. Rejects when Redis cannot be reached. */
export function readAllowed(redis: Pick<RedisClient, 'hgetall'>): Promise<Order[]> {
  return readOrders(redis, keysOf(0).allowed);
}
