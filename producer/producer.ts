import type { Config } from '../shared/config.ts';
import type { ReachFailpoint } from '../shared/failpoint.ts';
import type { ReadinessPart } from '../shared/health.ts';
import { createHeartbeat, HEARTBEAT_EVERY_MS } from '../shared/heartbeat.ts';
import { keysOf } from '../shared/keys.ts';
import type { Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import { connectRedis } from '../shared/redis.ts';
import type { Telegram } from '../shared/telegram.ts';
import type { Telemetry } from '../shared/telemetry.ts';
import { createInbox } from './inbox.ts';
import { LEASE_LASTS_MS, LEASE_RETRY_MS, type Lease, startLease } from './lease.ts';
import { type Poller, startPoller } from './poller.ts';

export interface ProducerParts {
  config: Config;
  redisUrl: string;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

/** Shorter than the defaults in tests. */
export interface ProducerLimits {
  leaseLastsMs?: number;
  leaseRetryMs?: number;
  heartbeatEveryMs?: number;
}

/** A poll answers within 50 seconds even when nothing happens; older than this, polling has stopped. */
const POLL_AGE_MS_MAX = 120_000;

/** The producer of a process: polls Telegram, unless another one does, and puts what is accepted on the stream. */
export function startProducer(
  parts: ProducerParts,
  limits: ProducerLimits = {},
): Service & { readiness: ReadinessPart[] } {
  const { config, telegram, telemetry, log, reach } = parts;
  const redis = connectRedis(parts.redisUrl, 'impatient');
  const keys = keysOf(0);
  const lease = startLease({
    redis,
    key: keys.poller(telegram.botId),
    log,
    lastsMs: limits.leaseLastsMs ?? LEASE_LASTS_MS,
    retryMs: limits.leaseRetryMs ?? LEASE_RETRY_MS,
  });
  const poller = startPoller({
    lease,
    heartbeat: createHeartbeat(redis, keys, log, limits.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS),
    telegram,
    telemetry,
    log,
    reach,
    inbox: createInbox(redis, config.SHARDS),
    allowed: config.TELEGRAM_ALLOWED_IDS,
    textMaxChars: config.INBOUND_TEXT_MAX_CHARS,
  });
  return {
    name: 'producer',
    readiness: [
      { name: 'redis', check: async () => ({ ready: redis.status === 'ready', detail: redis.status }) },
      { name: 'poller', check: async () => pollingOf(poller, lease) },
    ],
    async stop() {
      await poller.stop();
      await lease.stop();
      redis.disconnect();
    },
  };
}

/** Ready is a producer that polls, or one that would take over from another that does. */
function pollingOf(poller: Poller, lease: Lease): { ready: boolean; detail: string } {
  const holder = lease.holder();
  if (holder === 'another') return { ready: true, detail: 'another process polls; this one waits to take over' };
  if (holder === 'nobody known') return { ready: false, detail: 'Redis did not say who polls' };
  if (poller.lastAnswerMs() === 0) return { ready: false, detail: 'no answer yet' };
  const ageMs = Date.now() - poller.lastAnswerMs();
  return { ready: ageMs < POLL_AGE_MS_MAX, detail: `${ageMs} ms ago` };
}
