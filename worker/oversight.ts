import type { Root } from '../shared/app/process.ts';
import { stopAll } from '../shared/base/lifecycle.ts';
import type { Observability } from '../shared/base/observability.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import type { Self } from '../shared/state/process/workers.ts';
import { totalsOf } from '../shared/state/spending/limit.ts';
import { ALERT_EVERY_MS, ALERT_TAKE_OVER_MS, type Channels, createChannels, startAlerter } from './alerts/alerter.ts';
import { ALERTMANAGER_EVERY_MS, startAlertmanager } from './alerts/alertmanager.ts';
import { followedChat } from './alerts/channel.ts';
import { surroundingsOf } from './alerts/message.ts';
import { SETTLE_MS } from './alerts/outbox.ts';
import { REDIS_TROUBLE_MS, watchRedis, watchWatchdog } from './alerts/redis-trouble.ts';
import { modelsInUse } from './model/catalog.ts';
import { PROBE_EVERY_MS, type Probed, startEndpointProbe } from './watch/endpoint-probe.ts';
import { startStateGauges } from './watch/gauges.ts';
import { readinessOf } from './watch/readiness.ts';
import { POLL_AGE_MS, PROVIDER_DOWN_MS, TELEGRAM_DOWN_MS } from './watch/rules.ts';
import { ALERTS_READ_EVERY_MS, startWatchdog, WATCH_EVERY_MS } from './watch/watchdog.ts';

/** The ports of the watch. */
export interface OversightPorts extends Probed, Pick<Root, 'config' | 'redisAddress' | 'telegram'> {
  observability: Observability;
  self: Self;
  limits?: Partial<OversightLimits>;
}

/** Shorter than the defaults in tests. */
export interface OversightLimits {
  alertEveryMs: number;
  alertRetryMs: number;
  alertSettleMs: number;
  alertTakeOverMs: number;
  alertmanagerEveryMs: number;
  watchEveryMs: number;
  pollAgeMs: number;
  providerDownMs: number;
  telegramDownMs: number;
  redisTroubleMs: number;
  deadManEveryMs: number;
  probeEveryMs: number;
}

/** Watches all shards and notifies the operator: one watchdog, one alerter and one probe of the endpoint per process. */
export function startOversight(ports: OversightPorts) {
  const { redisAddress, limits } = ports;
  const { log, telemetry } = ports.observability;
  const channels = createChannels(ports);
  const alerter = startAlerter({
    redis: connectRedis(redisAddress, 'impatient'),
    channels,
    around: surroundingsOf(ports.config),
    log,
    settleMs: limits?.alertSettleMs ?? SETTLE_MS,
    everyMs: limits?.alertEveryMs ?? ALERT_EVERY_MS,
    takeOverMs: limits?.alertTakeOverMs ?? ALERT_TAKE_OVER_MS,
  });
  const watching = watchdogPorts(ports, channels);
  const watchdog = startWatchdog(watching, ports.self);
  const probe = startEndpointProbe({
    ...{ model: ports.model, modelName: ports.config.MODEL, takesFixedParts: ports.takesFixedParts },
    ...{ redis: watching.redis, keys: keysOf(0), book: watchdog.book, log },
    lookEveryMs: watching.everyMs.alerts,
    probeEveryMs: limits?.probeEveryMs ?? PROBE_EVERY_MS,
  });
  const gauges = startStateGauges({ ...watching, telemetry });
  const { ALERTMANAGER_URL: url } = ports.config;
  const alertmanager =
    url === undefined
      ? []
      : [
          startAlertmanager({
            ...{ url, log, book: watchdog.book, around: surroundingsOf(ports.config) },
            troubles: [watching.trouble.redis, watching.trouble.watch],
            everyMs: limits?.alertmanagerEveryMs ?? ALERTMANAGER_EVERY_MS,
          }),
        ];
  return {
    name: 'oversight',
    readiness: readinessOf(watchdog, { staysReady: ports.config.TELEGRAM_WEBHOOK_URL !== undefined }),
    stop: () => stopAll([alerter, watchdog, probe, gauges, ...alertmanager], log),
  };
}

function watchdogPorts(
  { config, redisAddress, observability: { log }, limits }: OversightPorts,
  { chatId, telegram, webhook }: Channels,
): Parameters<typeof startWatchdog>[0] {
  const channels = chatId === undefined ? [] : [followedChat(telegram, chatId)];
  const around = surroundingsOf(config);
  const trouble = { channels, webhook, log, around, afterMs: limits?.redisTroubleMs ?? REDIS_TROUBLE_MS };
  const deadMan = { url: config.DEADMAN_URL ?? '', everyMs: limits?.deadManEveryMs };
  return {
    redis: connectRedis(redisAddress, 'impatient'),
    shards: config.SHARDS,
    log,
    everyMs: { alerts: limits?.alertEveryMs ?? ALERTS_READ_EVERY_MS, look: limits?.watchEveryMs ?? WATCH_EVERY_MS },
    limits: {
      unansweredMs: config.UNANSWERED_ALERT_MS,
      pollAgeMs: limits?.pollAgeMs ?? POLL_AGE_MS,
      providerDownMs: limits?.providerDownMs ?? PROVIDER_DOWN_MS,
      telegramDownMs: limits?.telegramDownMs ?? TELEGRAM_DOWN_MS,
      totals: totalsOf(config),
      deadLettersMax: config.DEAD_LETTERS_MAX,
      models: modelsInUse(config),
      isVolatileAccepted: config.REDIS_ACCEPT.includes('volatile'),
    },
    trouble: { redis: watchRedis(trouble), watch: watchWatchdog(trouble) },
    ...(config.DEADMAN_URL !== undefined && { deadMan }),
  };
}
