import type { AllowedIds } from '../../base/settings.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { type Order, readOrders } from '../orders.ts';

/** The maximum age of an allow list in memory. A person whom an operator removes can still write for this long. */
const AGE_MS_MAX = 1_000;

/**
 * The current allow list: the ids in the settings, and the ids that an operator has added (`cli allow`). Calls within
 * `ageMsMax` share one read.
 *
 * Contract: the returned function rejects when Redis cannot be reached. It never uses a read that began more than `ageMsMax`
 * before the call.
 */
export function allowedNow(
  redis: Pick<RedisClient, 'hkeys'>,
  base: AllowedIds,
  ageMsMax = AGE_MS_MAX,
): () => Promise<AllowedIds> {
  if (base === 'everyone') return async () => base;
  let listMs = Number.NEGATIVE_INFINITY;
  let list: Promise<AllowedIds> = Promise.resolve(base);
  const read = async (): Promise<AllowedIds> =>
    new Set([...base, ...(await redis.hkeys(keysOf(0).allowed)).map(Number)]);
  return () => {
    const nowMs = performance.now();
    if (nowMs - listMs < ageMsMax) return list;
    listMs = nowMs;
    list = read();
    // After a failed read, the next call reads again.
    list.catch(() => {
      listMs = Number.NEGATIVE_INFINITY;
    });
    return list;
  };
}

/** The people and groups that operators added to the allow list, oldest first. Rejects when Redis cannot be reached. */
export function readAllowed(redis: Pick<RedisClient, 'hgetall'>): Promise<Order[]> {
  return readOrders(redis, keysOf(0).allowed);
}
