import { type Service, within } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import { endStart, findRefusedWrites, type RefusedWritesError } from '../../shared/state/process/process.ts';
import { openWorkerList } from '../../shared/state/process/workers.ts';
import type { Book } from '../alerts/book.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { clockAlert, uncleanEndAlert } from '../alerts/causes/watch.ts';
import type { Channels } from '../alerts/channel.ts';
import { watchTroubles } from '../alerts/redis-trouble.ts';
import { isAboutData } from '../alerts/watch-failure.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { createBookKeeper } from './book-keeper.ts';
import { createDeadMan, type DeadMan, isReceiving, mayPing } from './dead-man.ts';
import { createLetterCap } from './letter-cap.ts';
import type { WatchdogView } from './readiness.ts';
import { checkRules, ruleLimitsOf } from './rules.ts';
import { createSnapshotReader, type Snapshot } from './snapshot.ts';

/** The shortest time between the starts of two checks, as a multiple of the first check's duration, which may be seconds. */
const CHECK_PAUSE_FACTOR = 10;
const LEAVE_MS = 1_000;

interface Findings {
  last?: Snapshot | undefined;
  book: Book;
  /** The error that names the shards that take no writes; `undefined` if there are none. */
  refusedWrites?: RefusedWritesError | undefined;
  /** Set once a check in this process has found that messages are received. */
  hasReceived?: true;
}

/**
 * Starts the service that maintains the book of incidents: it enters alerts as they arrive, and regularly checks the state for
 * troubles such as overdue messages, idle workers, missing polls, a failing endpoint or a full Redis. Redis holds one book for
 * the whole installation, so several watchdogs may run side by side, and each can end an incident that another opened. A failed
 * check is logged and repeated. If Redis takes no writes for long, the watchdog notifies the operator without the book.
 *
 * The watchdog pings the dead-man's switch only if all checks work, every shard takes writes, messages are received, and no
 * condition holds except pauses and conditions with severity `info`. A single overdue message stops the pings, because for a
 * bot with one user such a message is an outage.
 */
export function startWatchdog(env: ProcessEnv, redis: RedisClient, channels: Channels): Service & WatchdogView {
  const { settings, log, limits } = env;
  const troubles = watchTroubles(env, channels);
  const findings: Findings = { book: new Map() };
  const deadMan = settings.DEADMAN_URL === undefined ? undefined : createDeadMan(settings.DEADMAN_URL, limits, log);
  const { processName: name, running, cache } = env;
  const self = { name, running, cached: cache, exportTrouble: env.telemetry.exportTrouble };
  const workerList = openWorkerList(redis, self, uncleanEndAlert);
  const runCheck = createCheck(env, redis, deadMan, findings, workerList, createClockReport(redis, name));
  const loop = runLoop({
    name: 'watchdog',
    // The first round waits, so that the worker can first take up messages from before the start.
    firstAfterMs: limits.alertEveryMs,
    async round(signal) {
      findings.refusedWrites = await findRefusedWrites(redis, settings.SHARDS, troubles.redis.sinceMs() !== undefined);
      try {
        // A round that only enters alerts does not prove that checks of the state work.
        if (await runCheck()) troubles.watch.worked();
        if (findings.refusedWrites === undefined) troubles.redis.worked();
        else if (!signal.aborted) troubles.redis.failed(findings.refusedWrites);
        return limits.alertEveryMs;
      } catch (error) {
        findings.last = undefined;
        if (!signal.aborted) reportTrouble(findings.refusedWrites ?? error, troubles);
        throw error;
      }
    },
    retryMs: limits.alertEveryMs,
    onError: (error) => log.warn({ err: error }, 'the watchdog could not look; it tries again'),
  });
  return {
    name: loop.name,
    snapshot: () => findings.last,
    book: () => findings.book,
    refusedWrites: () => findings.refusedWrites,
    troubles,
    async stop() {
      // Stop the loop first: after the process has left the list, a heartbeat would make its end look like a crash.
      const leaving = loop
        .stop()
        .then(() => workerList.leave())
        .catch(() => {});
      await within(leaving, LEAVE_MS);
      await deadMan?.stop();
    },
  };
}

/**
 * The smallest possible lead of this process's clock over Redis' clock, from this process's times before and after a request to
 * Redis. Negative if the clock is behind; 0 if the two clocks may agree.
 */
export function clockAheadMs(requestMs: number, redisMs: number, responseMs: number): number {
  return redisMs < requestMs ? requestMs - redisMs : Math.min(0, responseMs - redisMs);
}

const CLOCK_OFF_MS = 1_000;
const CLOCK_REPORT_EVERY_MS = 60_000;

/** Creates a function that alerts the operator if the clocks differ by a second or more, at most once a minute. */
function createClockReport(redis: RedisClient, name: string): (aheadMs: number) => Promise<void> {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return async (aheadMs) => {
    if (Math.abs(aheadMs) < CLOCK_OFF_MS || performance.now() - reportedMs < CLOCK_REPORT_EVERY_MS) return;
    reportedMs = performance.now();
    await queueAlert(redis, keysOf(0), clockAlert(name, aheadMs));
  };
}

/** Reports an error as trouble of the watchdog if bad data or a bug caused the error, otherwise as trouble of Redis. */
function reportTrouble(error: unknown, { redis, watch }: WatchdogView['troubles']): void {
  if (isAboutData(error)) {
    redis.worked();
    watch.failed(error);
  } else redis.failed(error);
}

/** Creates a function that enters queued alerts and, if a check is due, checks the state. It returns whether it checked. */
function createCheck(
  env: ProcessEnv,
  redis: RedisClient,
  deadMan: DeadMan | undefined,
  findings: Findings,
  workerList: ReturnType<typeof openWorkerList>,
  reportClock: (aheadMs: number) => Promise<void>,
): () => Promise<boolean> {
  const { settings, log } = env;
  const everyMs = env.limits.watchEveryMs;
  const limits = ruleLimitsOf(settings, env.limits);
  const store = createBookStore(redis);
  const readSnapshot = createSnapshotReader(redis, settings.SHARDS, limits.unansweredMs, limits.totals);
  const capLetters = createLetterCap(redis, limits.deadLettersMax, log);
  const keepBook = createBookKeeper(redis, store, settings.SHARDS, log);
  let sinceMs: number | undefined;
  let nextCheckMs = performance.now() + everyMs;
  return async () => {
    const startMs = performance.now();
    const isCheckDue = startMs >= nextCheckMs;
    if (isCheckDue) nextCheckMs = startMs + everyMs;
    const requestMs = Date.now();
    const nowMs = await workerList.show();
    await reportClock(clockAheadMs(requestMs, nowMs, Date.now()));
    if (isCheckDue) await workerList.strikeEnded(nowMs);
    sinceMs ??= nowMs;
    const stored = await store.read();
    const now = isCheckDue ? await readSnapshot({ nowMs, open: openIncidents(stored.book) }) : undefined;
    if (now) nextCheckMs = Math.max(nextCheckMs, startMs + CHECK_PAUSE_FACTOR * (performance.now() - startMs));
    const input = now && { now, before: findings.last, sinceMs, limits };
    const check = input && checkRules(input);
    const result = await keepBook(stored, nowMs, check);
    findings.book = result.book;
    // Delete letters only if every part of the watch worked, so that no part of the snapshot is unreadable.
    if (now && result.isWhole) await capLetters(now, stored);
    if (findings.refusedWrites === undefined && result.isWhole && check && mayPing(input, check)) deadMan?.ping();
    findings.last = now ?? findings.last;
    if (input && result.isWhole && !findings.hasReceived && isReceiving(input)) {
      await endStart(redis);
      findings.hasReceived = true;
    }
    return now !== undefined;
  };
}

function openIncidents(book: Book): ReadonlySet<string> {
  return new Set([...book].filter(([, { isOpen }]) => isOpen).map(([name]) => name));
}
