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
 * Opens the Telegram client for answers. The client sends nothing while Telegram does not answer and, with `TELEGRAM_PACING`,
 * stays within Telegram's rate limits.
 */
export function openTelegram(root: Root, limits: Limits, redis: RedisClient) {
  const { settings, redisAddress, log } = root;
  // When the breaker stops, it closes this connection. From then on, this process paces groups without the other processes.
  const impatient = connectRedis(redisAddress, 'impatient');
  const breaker = startTelegramBreaker(root.telegram, telegramState(impatient, log, limits), limits, log);
  const client = holdBack(root.telegram, breaker);
  if (!settings.TELEGRAM_PACING) return { telegram: client, breaker, services: [breaker] };
  const workers = startWorkerCount(redis);
  const { pace } = limits;
  const askPlace = groupPlaces(impatient, settings.SHARDS, pace.groupOfAll, log);
  const telegram = paceTelegram(client, workers.current, askPlace, pace);
  return { telegram, breaker, services: [workers, breaker] };
}

/** Every 2 seconds, counts the worker processes with a recent heartbeat. The count is at least 1. */
function startWorkerCount(redis: RedisClient) {
  let count = 1;
  const loop = runLoop({
    name: 'worker count',
    async round() {
      count = Math.max(1, await countWorkers(redis, await serverTimeMs(redis)));
      return COUNT_EVERY_MS;
    },
    retryMs: COUNT_EVERY_MS,
    // Keep the last count. If the count is too low, Telegram may refuse sends, and the client waits as long as Telegram says.
    onError: () => undefined,
  });
  return { ...loop, current: () => count };
}
