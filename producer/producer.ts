import type { Config } from '../shared/config.ts';
import type { ReachFailpoint } from '../shared/failpoint.ts';
import type { ReadinessPart } from '../shared/health.ts';
import type { Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import { connectRedis } from '../shared/redis.ts';
import type { Telegram } from '../shared/telegram.ts';
import type { Telemetry } from '../shared/telemetry.ts';
import { createInbox } from './inbox.ts';
import { startPoller } from './poller.ts';

export interface ProducerParts {
  config: Config;
  redisUrl: string;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

/** A poll answers within 50 seconds even when nothing happens; older than this, polling has stopped. */
const POLL_AGE_MS_MAX = 120_000;

/** The producer of a process: polls Telegram and puts what is accepted on the stream. */
export function startProducer(parts: ProducerParts): Service & { readiness: ReadinessPart[] } {
  const { config, telegram, telemetry, log, reach } = parts;
  const redis = connectRedis(parts.redisUrl, 'impatient');
  const poller = startPoller({
    ready: new Promise((resolve) => void redis.once('ready', resolve)),
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
      {
        name: 'poller',
        async check() {
          const ageMs = Date.now() - poller.lastAnswerMs();
          return {
            ready: ageMs < POLL_AGE_MS_MAX,
            detail: poller.lastAnswerMs() === 0 ? 'no answer yet' : `${ageMs} ms ago`,
          };
        },
      },
    ],
    async stop() {
      await poller.stop();
      redis.disconnect();
    },
  };
}
