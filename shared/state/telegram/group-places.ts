import type { RateLimiterRes } from 'rate-limiter-flexible';
import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf, shardOf } from '../../redis/keys.ts';
import type { Allowance, AskPlace } from '../../telegram/pacing.ts';

/**
 * Places in groups among all processes: so many in each window of whole seconds, which begins with its first call. A place
 * that is not used, because its process was killed, is lost.
 *
 * Contract: as `AskPlace`, over an impatient connection, which is what bounds its time.
 */
export function groupPlaces(redis: RedisClient, shards: number, allowed: Allowance, log: Logger): AskPlace {
  let opened: ReturnType<typeof openLimiter> | undefined;
  return async (chatId) => {
    try {
      opened ??= openLimiter(redis, allowed);
      await (await opened).consume(keysOf(shardOf(chatId, shards)).paced(chatId));
      return 0;
    } catch (refused) {
      const waitMs = refused instanceof Error ? undefined : (refused as RateLimiterRes).msBeforeNext;
      // A clock of Redis that stepped back makes a window last for as long as that step.
      if (waitMs !== undefined && waitMs <= allowed.interval) return Math.max(1, waitMs);
      log.debug({ err: refused, waitMs }, 'a group is paced by this process alone');
      return 0;
    }
  };
}

/** Loaded when a second process is there: most installations have one. */
async function openLimiter(redis: RedisClient, { limit, interval }: Allowance) {
  const { RateLimiterRedis } = await import('rate-limiter-flexible');
  return new RateLimiterRedis({ storeClient: redis, keyPrefix: '', points: limit, duration: interval / 1000 });
}
