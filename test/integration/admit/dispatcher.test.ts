import { test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { traceIdsOnly } from '../../../shared/base/telemetry.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { startDispatcher } from '../../../worker/lane/dispatcher.ts';
import { eachWithQueue, lane, queue } from '../../fixture/each-queue.ts';
import { keys, redis, server } from '../../fixture/each-redis.ts';
import { until } from '../../fixture/root.ts';

eachWithQueue();

test('a dispatcher that waits for news ends when it is asked to, although Redis is away', async () => {
  const blocking = connectRedis(server.url, 'patient');
  const silent = { telemetry: traceIdsOnly(), log: createLogger('silent'), reach: () => {} };
  const dispatcher = startDispatcher({ lane, queue, discard: async () => {}, ...silent }, keys, blocking);
  await until('blocking read', async () => /blocked_clients:1/.test(await redis.info('clients')) || undefined);
  server.kill9();
  await until('connection that is to be tried again', async () => blocking.status === 'reconnecting' || undefined);
  await dispatcher.stop();
});
