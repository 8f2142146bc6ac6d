import type { RedisClient } from '../redis/connection.ts';
import type { Keys } from '../redis/keys.ts';
import { type Alert, alertCommand, lostDataAlert } from './alert.ts';

/** A reading of a shard's count of accepted messages. */
export interface Counted {
  accepted: number;
  /** Whether the count grew by one in the same step. */
  hasGrown: boolean;
}

/**
 * Compares the count of accepted messages, which only ever grows, with the highest one seen before, and queues an alert
 * when it went back: then Redis lost data. The highest count is kept in memory on purpose: Redis could have lost
 * anything that it held.
 *
 * Contract: rejects when the alert cannot be queued; the next call tries again. Returns the alert that it queued.
 */
export type TellLoss = (counted: Counted) => Promise<Alert | undefined>;

/** A detector for one shard. Call it in the order in which the counts were read. */
export function createLossTeller(redis: RedisClient, keys: Keys): TellLoss {
  let highest = 0;
  return async ({ accepted, hasGrown }) => {
    const before = highest;
    const isLower = accepted < before || (hasGrown && accepted === before);
    highest = accepted;
    if (!isLower) return undefined;
    const alert = lostDataAlert(keys.counts, before, accepted);
    try {
      await redis.call(...alertCommand(keys, alert));
    } catch (error) {
      highest = Math.max(highest, before);
      throw error;
    }
    return alert;
  };
}
