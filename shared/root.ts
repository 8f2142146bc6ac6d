import { join } from 'node:path';
import { type Config, programPath, type Role, readProcessConfig } from './config.ts';
import { createFailpoints, type ReachFailpoint } from './failpoint.ts';
import { type ReadinessPart, serveHealth } from './health.ts';
import { type Service, stopAll } from './lifecycle.ts';
import { createLogger, type Logger } from './log.ts';
import { PROJECT_ROOT, refuse } from './project.ts';
import { provideRedis } from './redis-source.ts';
import { createTelegram, type Telegram } from './telegram.ts';
import { guardToken } from './telegram-guard.ts';
import { startTelemetry, type Telemetry } from './telemetry.ts';

/** What a root process is made of; each role adds its own services. */
export interface Root {
  config: Config;
  redisUrl: string;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

const FLUSH_MS = 2_500;
/** Draining takes 25 seconds at most; a process that is not gone by then is ended, and its jobs are taken over. */
const STOP_MS_MAX = 35_000;

/**
 * Runs a role as a process: reads the config (all problems at once, exit 2, nothing connected), finds a Redis, starts
 * what `assemble` builds, serves health, and on SIGTERM or SIGINT stops everything in reverse order.
 */
export async function runRoot(
  role: Role,
  serviceName: string,
  assemble: (root: Root) => Promise<(Service & { readiness: ReadinessPart[] })[]>,
): Promise<void> {
  const reading = readProcessConfig(role);
  if (!reading.ok) return refuse(reading.problems);
  const { config } = reading;
  const log = createLogger(config.LOG_LEVEL);
  for (const warning of reading.warnings) log.warn(warning);
  const redis = await provideRedis({
    ...(config.REDIS_URL !== undefined && { url: config.REDIS_URL }),
    root: PROJECT_ROOT,
    path: programPath(),
    dir: join(PROJECT_ROOT, 'data', 'redis'),
    fsync: 'always',
    keep: true,
    onProgress: (line) => log.info(line),
  });
  if (!redis.ok) return refuse([redis.problem]);
  const telemetry = startTelemetry({ serviceName, exporting: config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined });
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: apiRoot } = config;
  const telegram = guardToken(createTelegram({ token, apiRoot }));
  const services: Service[] = [
    { name: 'redis', stop: () => redis.stop() },
    { name: 'telemetry', stop: () => telemetry.stop(FLUSH_MS) },
  ];
  const stop = stopOnce(services, log);
  process.once('SIGTERM', () => void stop(0));
  process.once('SIGINT', () => void stop(0));
  try {
    const root = {
      config,
      redisUrl: redis.url,
      telegram,
      telemetry,
      log,
      reach: createFailpoints(config.SPILLWAY_FAIL_AT),
    };
    const assembled = await assemble(root);
    services.push(...assembled);
    const parts = assembled.flatMap((service) => service.readiness);
    const health = await serveHealth({ host: config.HTTP_HOST, port: config.HTTP_PORT, parts });
    services.push(health);
    log.info({ role, redis: redis.url.replace(/\/\/.*@/, '//'), healthPort: health.port }, 'running');
  } catch (error) {
    log.fatal({ err: error }, 'could not start');
    await stop(1);
  }
}

function stopOnce(services: readonly Service[], log: Logger): (code: number) => Promise<void> {
  let stopping = false;
  return async (code) => {
    if (stopping) return;
    stopping = true;
    log.info('stopping');
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    await stopAll(services, (name, error) => log.error({ err: error, service: name }, 'a service did not stop well'));
    process.exit(code);
  };
}
