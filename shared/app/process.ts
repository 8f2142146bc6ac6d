import { join } from 'node:path';
import { createChatNames } from '../base/chat-name.ts';
import { type Config, programPath, type Role, readProcessConfig } from '../base/config.ts';
import { createFailpoints, type ReachFailpoint } from '../base/failpoint.ts';
import { type Service, stopAll } from '../base/lifecycle.ts';
import { createLogger, describeError, type Logger } from '../base/log.ts';
import { PROJECT_ROOT, refuse } from '../base/project.ts';
import { type RedisAddress, redisAddressOf } from '../base/redis-address.ts';
import { startTelemetry, type Telemetry } from '../base/telemetry.ts';
import { nameProcess } from '../flow/process-name.ts';
import { connectRedis } from '../redis/connection.ts';
import { noteShards } from '../redis/shards.ts';
import { createTelegram, type Telegram } from '../telegram/client.ts';
import { observeCalls } from '../telegram/observe.ts';
import { guardToken } from '../telegram/token-guard.ts';
import { provideRedis } from './find-redis.ts';
import { type ReadinessPart, type Route, serveHealth } from './health.ts';
import { FROZEN_MS, watchEventLoop } from './loop-watch.ts';
import { metricsRoute } from './metrics-route.ts';

/** What a root process is made of; each role adds its own services. */
export interface Root {
  /** The name of this process among all; see `nameProcess`. */
  processName: string;
  config: Config;
  redisAddress: RedisAddress;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

const FLUSH_MS = 2_500;
/**
 * Draining takes 25 seconds at most; a process still running after this limit is ended, and its jobs are taken over.
 */
const STOP_MS_MAX = 35_000;
/** Nobody presses Ctrl-C twice in this time. */
const SAME_CTRL_C_MS = 500;
/** 128 plus the number of SIGINT, as shells count. */
const EXIT_INTERRUPTED = 130;

/**
 * Runs a role as a process. It reads the config (all problems at once, exit 2, nothing connected), finds a Redis, and
 * refuses one whose data was begun with another number of shards (exit 2). It starts what `assemble` builds, and serves
 * health and the routes of what was built. On SIGTERM or SIGINT, or on an uncaught error (exit 1), it stops everything
 * in reverse order. A process whose event loop stands still for `frozenMs` is ended by force.
 */
export async function runRoot(
  role: Role,
  serviceName: string,
  assemble: (root: Root) => Promise<(Service & { readiness: ReadinessPart[]; routes?: Route[] })[]>,
  frozenMs = FROZEN_MS,
): Promise<void> {
  const reading = readProcessConfig(role);
  if (!reading.ok) return refuse(reading.problems);
  const { config } = reading;
  const log = createLogger(config.LOG_LEVEL);
  const services: Service[] = [];
  const stop = stopOnce(services, log);
  endOnSurprise(log, stop);
  for (const warning of reading.warnings) log.warn(warning);
  const redis = await redisOf(config, log);
  if (!redis.ok) return refuse([redis.problem]);
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: apiRoot } = config;
  const telemetry = await startTelemetry({
    serviceName,
    exporting: config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    nameChat: createChatNames({ key: token, plain: config.TELEMETRY_CHAT_IDS }),
  });
  const telegram = guardToken(createTelegram({ token, apiRoot, observe: observeCalls(telemetry) }));
  const processName = nameProcess();
  services.push(
    watchEventLoop({ processName, redisAddress: redis.url, frozenMs }, log),
    { name: 'redis', stop: () => redis.stop() },
    { name: 'telemetry', stop: () => telemetry.stop(FLUSH_MS) },
  );
  endOnSignals(stop);
  try {
    const problem = await otherShards(redis.url, config.SHARDS);
    if (problem !== undefined) {
      refuse([problem]);
      return await stop(2);
    }
    const reach = createFailpoints(config.SPILLWAY_FAIL_AT);
    const assembled = await assemble({ processName, config, redisAddress: redis.url, telegram, telemetry, log, reach });
    services.push(...assembled);
    const health = await serveHealth({
      host: config.HTTP_HOST,
      port: config.HTTP_PORT,
      parts: assembled.flatMap((service) => service.readiness),
      routes: [metricsRoute(telemetry), ...assembled.flatMap((service) => service.routes ?? [])],
    });
    services.push(health);
    log.info({ role, redis: shown(redis.url), healthPort: health.port }, 'running');
  } catch (error) {
    log.fatal({ err: error }, 'could not start');
    await stop(1);
  }
}

/** The Redis that the config names, or a private one. */
function redisOf(config: Config, log: Logger) {
  const given = redisAddressOf(config);
  return provideRedis<RedisAddress>({
    ...(given !== undefined && { url: given }),
    root: PROJECT_ROOT,
    path: programPath(),
    dir: join(PROJECT_ROOT, 'data', 'redis'),
    fsync: 'always',
    keep: true,
    onProgress: (line) => log.info(line),
  });
}

/**
 * SIGTERM and Ctrl-C stop the process; a second Ctrl-C ends it at once. Whoever signals a group of processes and one of
 * them that hands signals on, as npm does, sends each twice: repeats of SIGTERM, and of Ctrl-C at once, mean the same.
 */
function endOnSignals(stop: (code: number) => Promise<void>): void {
  process.on('SIGTERM', () => void stop(0));
  let interruptedMs: number | undefined;
  process.on('SIGINT', () => {
    interruptedMs ??= performance.now();
    if (performance.now() - interruptedMs > SAME_CTRL_C_MS) process.exit(EXIT_INTERRUPTED);
    void stop(0);
  });
}

/**
 * An uncaught error leaves the process in an unknown state: it is logged and the process ends, as on SIGTERM but with
 * exit code 1. Node itself would print the whole error, which for a Redis command includes the text of a message.
 */
function endOnSurprise(log: Logger, stop: (code: number) => Promise<void>): void {
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ ...placeOf(error), origin }, 'something was thrown that nobody caught');
    void stop(1);
  });
}

/** The kind of an error and where it came from. Omits its message, which may quote content; Redis' replies do not. */
function placeOf(error: Error): { name: string; reply?: string; stack: string } {
  const { name, message, stack } = describeError(error);
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { name, ...(name === 'ReplyError' && { reply: message }), stack: frames.join('\n') };
}

/** Compares the number of shards with that of the data, before any data is touched. Waits for Redis. */
async function otherShards(address: RedisAddress, shards: number): Promise<string | undefined> {
  const redis = connectRedis(address, 'patient');
  try {
    return await noteShards(redis, shards);
  } finally {
    redis.disconnect();
  }
}

/** Where Redis is, without the user and the password. */
function shown(address: RedisAddress): string {
  const given =
    typeof address === 'object' && 'master' in address ? [...address.sentinels, address.master] : [address].flat();
  const urls = given.map((url) => url.replace(/\/\/.*@/, '//'));
  return urls.join(', ');
}

function stopOnce(services: readonly Service[], log: Logger): (code: number) => Promise<void> {
  let stopping = false;
  return async (code) => {
    if (stopping) return;
    stopping = true;
    log.info('stopping');
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    await stopAll(services, log);
    process.exit(code);
  };
}
