import { createFailpoints, type ReachFailpoint } from '../base/failpoint.ts';
import { type Service, stopAll } from '../base/lifecycle.ts';
import { createLogger, describeError, type Logger } from '../base/log.ts';
import { refuse } from '../base/project.ts';
import type { RedisAddress } from '../base/redis-address.ts';
import { ownEnvironment, type Role, readOwnSettings, type Settings, type SettingsReading } from '../base/settings.ts';
import { signalsOf } from '../base/signals.ts';
import { createChatNames } from '../base/spans.ts';
import { startTelemetry, type Telemetry } from '../base/telemetry.ts';
import { connectRedis } from '../redis/connection.ts';
import { whenRefused } from '../redis/failover.ts';
import { type Keeping, noteShards, readKeeping, wordsOf } from '../redis/keeping.ts';
import { nameProcess, noteStart } from '../state/process/process.ts';
import { createTelegram, type Telegram } from '../telegram/client.ts';
import { observeCalls } from '../telegram/observe.ts';
import { guardToken } from '../telegram/rejected-token.ts';
import { provideOwnRedis } from './find-redis.ts';
import { type ReadinessPart, type Route, serveHealth } from './health.ts';
import { FROZEN_MS, watchEventLoop } from './loop-watch.ts';
import { metricsRoute } from './metrics-exchange.ts';

/** The parts that a process of any role has; each role adds its own services. */
export interface Root {
  /** The unique name of this process in the installation. */
  processName: string;
  settings: Settings;
  redisAddress: RedisAddress;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

const FLUSH_MS = 2_500;
/** How long a stop may take, including up to 25 seconds of draining. Then the process exits, and other workers run its jobs. */
const STOP_MS_MAX = 35_000;
/** Two interrupts within this time come from one Ctrl-C. */
const SAME_CTRL_C_MS = 500;
/** The exit code that shells report for a process ended by SIGINT: 128 plus the number of the signal. */
const EXIT_INTERRUPTED = 130;
const ASK = 'npm run setup asks for what is missing.';

/**
 * Runs a role as a process. Reads the settings and reports all problems, including `furtherProblems`, before any connection
 * (exit code 2). Refuses a missing Redis, a Redis that evicts data, and data with another number of shards (exit code 2).
 * Starts the services that `assemble` returns. Serves their routes, metrics and health. Stops all services in reverse order on
 * SIGTERM or SIGINT, and after a failed start or an uncaught error (exit code 1). Kills the process when its event loop stands
 * still for `frozenMs`.
 */
export async function runRoot(
  role: Role,
  serviceName: string,
  assemble: (root: Root) => Promise<(Service & { readiness: ReadinessPart[]; routes?: Route[] })[]>,
  furtherProblems: (reading: SettingsReading) => Promise<readonly string[]> = async () => [],
  frozenMs = FROZEN_MS,
): Promise<void> {
  const reading = readOwnSettings(role);
  const roleProblems = await furtherProblems(reading);
  if (!reading.ok || roleProblems.length > 0) {
    const problems = [...(reading.ok ? [] : reading.problems), ...roleProblems];
    return refuse(problems.some((each) => each.includes(' is required: ')) ? [...problems, ASK] : problems);
  }
  const { settings } = reading;
  const log = createLogger(settings.LOG_LEVEL);
  const services: Service[] = [];
  const stop = stopOnce(services, log);
  endOnUncaughtError(log, stop);
  for (const warning of reading.warnings) log.warn(warning);
  const redis = await provideOwnRedis(settings, (line) => log.info(line));
  if (!redis.ok) return refuse([redis.problem]);
  const telemetry = await startTelemetry({
    serviceName,
    signals: signalsOf(settings, ownEnvironment()),
    log,
    nameChat: createChatNames({ key: settings.TELEGRAM_BOT_TOKEN, plain: settings.TELEMETRY_CHAT_IDS }),
  });
  const telegram = openTelegram(settings, telemetry);
  const processName = nameProcess();
  services.push(
    watchEventLoop({ processName, redisAddress: redis.url, frozenMs }, log),
    { name: 'redis', stop: () => redis.stop() },
    { name: 'telemetry', stop: () => telemetry.stop(FLUSH_MS) },
  );
  endOnSignals(stop);
  const state = endOnRefusal(log, stop);
  try {
    const { refusal, risks } = await judge(redis.url, settings, role);
    for (const risk of risks) log.warn(wordsOf(risk));
    if (refusal !== undefined) {
      refuse([refusal]);
      return await stop(2);
    }
    const reach = createFailpoints(settings.SPILLWAY_FAIL_AT);
    const started = await assemble({ processName, settings, redisAddress: redis.url, telegram, telemetry, log, reach });
    services.push(...started);
    const health = await serveHealth({
      ...listenerOf(settings),
      log,
      parts: started.flatMap((service) => service.readiness),
      routes: [metricsRoute(telemetry), ...started.flatMap((service) => service.routes ?? [])],
    });
    services.push(health);
    state.isRunning = true;
    log.info({ role, redis: withoutPassword(redis.url), healthPort: health.port }, 'running');
  } catch (error) {
    log.fatal({ err: error }, 'could not start');
    await stop(1);
  }
}

function openTelegram(settings: Settings, telemetry: Telemetry): Telegram {
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: apiRoot, TELEGRAM_LINK_PREVIEWS: linkPreviews } = settings;
  const hasGuests = settings.TELEGRAM_GUESTS.size > 0;
  return guardToken(createTelegram({ token, apiRoot, linkPreviews, hasGuests, observe: observeCalls(telemetry) }));
}

/**
 * SIGTERM and Ctrl-C stop the process; a second Ctrl-C ends it at once. npm forwards signals, so a signal to a whole group of
 * processes reaches this process twice. Therefore another SIGTERM, or a SIGINT just after the first one, has no effect.
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
 * Ends the process when Redis denies a command that the gateway needs: with exit code 2 during the start, because a restart
 * would not help, and with 1 later.
 */
function endOnRefusal(log: Logger, stop: (code: number) => Promise<void>): { isRunning: boolean } {
  const state = { isRunning: false };
  whenRefused((problem) => {
    log.fatal(problem);
    void stop(state.isRunning ? 1 : 2);
  });
  return state;
}

/**
 * Logs an uncaught error, which leaves the process in an unknown state, and ends the process as on SIGTERM, but with exit code
 * 1. Node itself would print the whole error, and the error of a Redis command may include the text of a message.
 */
function endOnUncaughtError(log: Logger, stop: (code: number) => Promise<void>): void {
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ ...placeOf(error), origin }, 'something was thrown that nobody caught');
    void stop(1);
  });
}

/** The name and the stack of an error, and the message if Redis sent it. Other messages may quote a user's text. */
function placeOf(error: Error): { name: string; reply?: string; stack: string } {
  const { name, message, stack } = describeError(error);
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { name, ...(name === 'ReplyError' && { reply: message }), stack: frames.join('\n') };
}

/**
 * Reads the dangers to the data in Redis, and stores the number of shards or compares it with the stored one, before anybody
 * uses the data. If the start is not refused and the role includes a worker, stores that a worker starts. Waits while Redis is
 * unreachable.
 */
async function judge(address: RedisAddress, { SHARDS, REDIS_ACCEPT }: Settings, role: Role): Promise<Keeping> {
  const redis = connectRedis(address, 'patient');
  try {
    const otherShards = await noteShards(redis, SHARDS);
    const keeping = await readKeeping(redis, REDIS_ACCEPT);
    const refusal = otherShards ?? keeping.refusal;
    if (refusal === undefined && role !== 'producer') await noteStart(redis);
    return { ...keeping, ...(refusal !== undefined && { refusal }) };
  } finally {
    redis.disconnect();
  }
}

/** The address of the health server, and the host names by which a proxy, Telegram or Prometheus may reach the server. */
function listenerOf({ HTTP_HOST: host, HTTP_PORT: port, HTTP_ALLOWED_HOSTS, TELEGRAM_WEBHOOK_URL: webhook }: Settings) {
  const hosts = [host, ...HTTP_ALLOWED_HOSTS, ...(webhook === undefined ? [] : [new URL(webhook).hostname])];
  return { host, port, hosts };
}

/** The address of Redis for the log, without user and password. */
function withoutPassword(address: RedisAddress): string {
  const urls =
    typeof address === 'object' && 'master' in address ? [...address.sentinels, address.master] : [address].flat();
  return urls.map((url) => url.replace(/\/\/.*@/, '//')).join(', ');
}

function stopOnce(services: readonly Service[], log: Logger): (code: number) => Promise<void> {
  let isStopping = false;
  return async (code) => {
    if (isStopping) return;
    isStopping = true;
    log.info('stopping');
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    await stopAll(services, log);
    process.exit(code);
  };
}
