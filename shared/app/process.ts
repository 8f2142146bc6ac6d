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

/** The parts of a root process; each role adds its own services. */
export interface Root {
  /** The name of this process among all; see `nameProcess`. */
  processName: string;
  settings: Settings;
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
const ASK = 'npm run setup asks for what is missing.';

/**
 * Runs a role as a process. It reads the settings (all problems at once, those that the role itself finds included; exit 2,
 * nothing connected), finds a Redis, and refuses one that evicts, or whose data was begun with another number of shards
 * (exit 2). It starts what `assemble` builds, and serves
 * health and the routes of what was built. On SIGTERM or SIGINT, or on an uncaught error (exit 1), it stops everything
 * in reverse order. A process whose event loop stands still for `frozenMs` is ended by force.
 */
export async function runRoot(
  role: Role,
  serviceName: string,
  assemble: (root: Root) => Promise<(Service & { readiness: ReadinessPart[]; routes?: Route[] })[]>,
  furtherProblems: (reading: SettingsReading) => Promise<readonly string[]> = async () => [],
  frozenMs = FROZEN_MS,
): Promise<void> {
  const reading = readOwnSettings(role);
  const further = await furtherProblems(reading);
  if (!reading.ok || further.length > 0) {
    const problems = [...(reading.ok ? [] : reading.problems), ...further];
    return refuse(problems.some((each) => each.includes(' is required: ')) ? [...problems, ASK] : problems);
  }
  const { settings } = reading;
  const log = createLogger(settings.LOG_LEVEL);
  const services: Service[] = [];
  const stop = stopOnce(services, log);
  endOnSurprise(log, stop);
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
    log.info({ role, redis: shown(redis.url), healthPort: health.port }, 'running');
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

/** A command that Redis refuses for good ends the process; before it runs, another start would end in the same way (exit 2). */
function endOnRefusal(log: Logger, stop: (code: number) => Promise<void>): { isRunning: boolean } {
  const state = { isRunning: false };
  whenRefused((problem) => {
    log.fatal(problem);
    void stop(state.isRunning ? 1 : 2);
  });
  return state;
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

/**
 * Whether Redis can hold the data, and holds it in as many shards, before any data is touched; then notes a start. Waits
 * for Redis.
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

/** Where we listen, and the names by which a proxy, Telegram or Prometheus asks for us. */
function listenerOf({ HTTP_HOST: host, HTTP_PORT: port, HTTP_ALLOWED_HOSTS, TELEGRAM_WEBHOOK_URL: webhook }: Settings) {
  const hosts = [host, ...HTTP_ALLOWED_HOSTS, ...(webhook === undefined ? [] : [new URL(webhook).hostname])];
  return { host, port, hosts };
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
