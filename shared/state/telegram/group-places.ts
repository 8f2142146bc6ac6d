import type { RateLimiterRes } from 'rate-limiter-flexible';
import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf, shardOf } from '../../redis/keys.ts';
import type { Allowance, AskPlace } from '../../telegram/pacing.ts';

/**
 * The rate limit of sends to a group, shared by all processes: `allowance.limit` sends in a window of `allowance.interval`,
 * a number of whole seconds. A window begins with its first send. If a process dies before its send, the send still counts.
 *
 * Contract: as `AskPlace`. Needs an impatient connection, which limits the time of the request to Redis.
 */
export function groupPlaces(redis: RedisClient, shards: number, allowance: Allowance, log: Logger): AskPlace {
  let limiter: ReturnType<typeof openLimiter> | undefined;
  return async (chatId) => {
    try {
      limiter ??= openLimiter(redis, allowance);
      await (await limiter).consume(keysOf(shardOf(chatId, shards)).paced(chatId));
      return 0;
    } catch (rejection) {
      const waitMs = rejection instanceof Error ? undefined : (rejection as RateLimiterRes).msBeforeNext;
      // If Redis' clock stepped back, the window lasts too long. Do not wait for the end of such a window.
      if (waitMs !== undefined && waitMs <= allowance.interval) return Math.max(1, waitMs);
      log.debug({ err: rejection, waitMs }, 'a group is paced by this process alone');
      return 0;
    }
  };
}

/** Imports the limiter on demand, because most installations have one process and need none. */
async function openLimiter(redis: RedisClient, { limit, interval }: Allowance) {
  const { RateLimiterRedis } = await import('rate-limiter-flexible');
  return new RateLimiterRedis({ storeClient: redis, keyPrefix: '', points: limit, duration: interval / 1000 });
}
