import type { ReadinessPart } from '../../shared/app/health.ts';
import { type Service, stopAll } from '../../shared/base/lifecycle.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { createChannels, startAlerter } from '../alerts/alerter.ts';
import { startAlertmanager } from '../alerts/alertmanager.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { type ProbeCalls, startEndpointProbe } from './endpoint-probe.ts';
import { startStateGauges } from './gauges.ts';
import { readinessOf } from './readiness.ts';
import { startWatchdog } from './watchdog.ts';

/** Starts the services that watch all shards and notify the operator. Every worker process runs them. */
export function startOversight(env: ProcessEnv, calls: ProbeCalls): Service & { readiness: readonly ReadinessPart[] } {
  const { ALERTMANAGER_URL: url, TELEGRAM_WEBHOOK_URL: webhook } = env.settings;
  const channels = createChannels(env);
  const redis = connectRedis(env.redisAddress, 'impatient');
  const watchdog = startWatchdog(env, redis, channels);
  const services = [
    startAlerter(env, connectRedis(env.redisAddress, 'impatient'), channels),
    { name: 'redis', stop: async () => redis.disconnect() },
    watchdog,
    startEndpointProbe(env, redis, calls, watchdog.book),
    startStateGauges(env, redis),
    ...(url === undefined ? [] : [startAlertmanager(env, url, watchdog)]),
  ];
  return {
    name: 'oversight',
    readiness: readinessOf(watchdog, { staysReady: webhook !== undefined }),
    stop: () => stopAll(services, env.log),
  };
}
