import type { Root } from '../shared/app/process.ts';
import { runLoop } from '../shared/base/loop.ts';
import { connectRedis, type RedisClient } from '../shared/redis/connection.ts';
import { serverTimeMs } from '../shared/state/process/process.ts';
import { countWorkers } from '../shared/state/process/workers.ts';
import { groupPlaces } from '../shared/state/telegram/group-places.ts';
import { telegramState } from '../shared/state/telegram/telegram.ts';
import { startTelegramBreaker } from '../shared/telegram/breaker.ts';
import { holdBack } from '../shared/telegram/held-back.ts';
import { paceTelegram } from '../shared/telegram/pacing.ts';
import type { Limits } from './limits.ts';

const COUNT_EVERY_MS = 2_000;

/**
 * Telegram as chats are answered by it: held back while it is away, and what shows something in a chat is sent as fast as
 * it allows, and no faster.
 */
export function openTelegram(root: Root, limits: Limits, redis: RedisClient) {
  const { settings, redisAddress, log } = root;
  // Closed by the breaker at its end; then this process keeps its own limits alone.
  const impatient = connectRedis(redisAddress, 'impatient');
  const breaker = startTelegramBreaker(root.telegram, telegramState(impatient, log, limits), limits, log);
  const held = holdBack(root.telegram, breaker);
  if (!settings.TELEGRAM_PACING) return { telegram: held, breaker, services: [breaker] };
  const workers = startWorkerCount(redis);
  const { pace } = limits;
  const askPlace = groupPlaces(impatient, settings.SHARDS, pace.groupOfAll, log);
  const telegram = paceTelegram(held, workers.current, askPlace, pace);
  return { telegram, breaker, services: [workers, breaker] };
}

/** Counts the worker processes that report, now and then: at least this one. */
function startWorkerCount(redis: RedisClient) {
  let count = 1;
  const loop = runLoop({
    name: 'worker count',
    async round() {
      count = Math.max(1, await countWorkers(redis, await serverTimeMs(redis)));
      return COUNT_EVERY_MS;
    },
    retryMs: COUNT_EVERY_MS,
    // The last count holds; a refusal by Telegram is obeyed in any case.
    onError: () => undefined,
  });
  return { ...loop, current: () => count };
}
