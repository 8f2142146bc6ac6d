import { type Service, within } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import { endStart, findRefusedWrites, type RefusedWritesError } from '../../shared/state/process/process.ts';
import { openWorkerList } from '../../shared/state/process/workers.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import type { Book } from '../alerts/book.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { clockAlert, uncleanEndAlert } from '../alerts/causes/watch.ts';
import type { Channels } from '../alerts/channel.ts';
import { watchTroubles } from '../alerts/redis-trouble.ts';
import { isAboutData } from '../alerts/watch-failure.ts';
import { modelsInUse } from '../model/catalog.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { createBookKeeper } from './book-keeper.ts';
import { createDeadMan, type DeadMan, isPolled, mayPing } from './dead-man.ts';
import { createLetterCap } from './letter-cap.ts';
import type { Watching } from './readiness.ts';
import { checkRules, type RuleLimits } from './rules.ts';
import { createSnapshotReader, type Snapshot } from './snapshot.ts';

/** With very many lanes a look takes seconds: the next one begins after ten times as long. */
const LOOK_SHARE = 10;
const LEAVE_MS = 1_000;

/** What the last check saw. */
interface Seen {
  last?: Snapshot | undefined;
  book: Book;
  /** Why some shards, or all, take no writes. */
  refusedWrites?: RefusedWritesError | undefined;
  /** Whether a look has seen the receiver work since the start of this process. */
  hasBegun?: true;
}

/**
 * Keeps the book of incidents: enters alerts as they arrive, and regularly checks the state for what is missing
 * (answers, running jobs, polls, an endpoint that answers, room in Redis). The book is kept in Redis, one for the whole
 * installation: several watchdogs may run side by side, and any of them closes what another opened. A failed check is
 * logged and repeated; when Redis takes no writes for long, the operator is notified without it.
 *
 * The dead-man's switch is pinged only if all checks work, every shard takes writes, no condition holds (except those that
 * an operator's pause explains) and messages are received. A single overdue message also stops the pings, because for a bot
 * with one user it is an outage.
 */
export function startWatchdog(env: ProcessEnv, redis: RedisClient, channels: Channels): Service & Watching {
  const { settings, log, limits } = env;
  const troubles = watchTroubles(env, channels);
  const seen: Seen = { book: new Map() };
  const deadMan = settings.DEADMAN_URL === undefined ? undefined : createDeadMan(settings.DEADMAN_URL, limits, log);
  const { processName: name, running, cache: cached } = env;
  const self = { name, running, cached, exportTrouble: env.telemetry.exportTrouble };
  const list = openWorkerList(redis, self, uncleanEndAlert);
  const look = createLook(env, redis, deadMan, seen, list, reportsClock(redis, name));
  const loop = runLoop({
    name: 'watchdog',
    // The first check waits, so that work left over from the last run can be done first.
    firstAfterMs: limits.alertEveryMs,
    async round(signal) {
      seen.refusedWrites = await findRefusedWrites(redis, settings.SHARDS, troubles.redis.sinceMs() !== undefined);
      try {
        // A round that reads only alerts proves nothing about a check of the state.
        if (await look()) troubles.watch.worked();
        if (seen.refusedWrites === undefined) troubles.redis.worked();
        else if (!signal.aborted) troubles.redis.failed(seen.refusedWrites);
        return limits.alertEveryMs;
      } catch (error) {
        seen.last = undefined;
        if (!signal.aborted) attribute(seen.refusedWrites ?? error, troubles);
        throw error;
      }
    },
    retryMs: limits.alertEveryMs,
    onError: (error) => log.warn({ err: error }, 'the watchdog could not look; it tries again'),
  });
  return {
    name: loop.name,
    snapshot: () => seen.last,
    book: () => seen.book,
    refusedWrites: () => seen.refusedWrites,
    troubles,
    async stop() {
      const stopped = loop.stop();
      // The process leaves after the last round: a sign of life after it would look like a crash.
      const left = stopped.then(() => list.leave()).catch(() => {});
      await within(left, LEAVE_MS);
      await deadMan?.stop();
    },
  };
}

function ruleLimitsOf({ settings, limits: { pollAgeMs, providerDownMs, telegramDownMs } }: ProcessEnv): RuleLimits {
  return {
    ...{ pollAgeMs, providerDownMs, telegramDownMs },
    unansweredMs: settings.UNANSWERED_ALERT_MS,
    totals: totalsOf(settings),
    deadLettersMax: settings.DEAD_LETTERS_MAX,
    models: modelsInUse(settings),
    isVolatileAccepted: settings.REDIS_ACCEPT.includes('volatile'),
  };
}

/** By how much the clock of this process is ahead of Redis' at least, by when Redis was asked and answered; below 0 it is behind. */
export function clockAheadMs(askedMs: number, redisMs: number, answeredMs: number): number {
  return redisMs < askedMs ? askedMs - redisMs : Math.min(0, answeredMs - redisMs);
}

const CLOCK_OFF_MS = 1_000;
const CLOCK_REPORT_EVERY_MS = 60_000;

/** Alerts the operator of a clock that differs from that of Redis, once a minute at most. */
function reportsClock(redis: RedisClient, name: string): (aheadMs: number) => Promise<void> {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return async (aheadMs) => {
    if (Math.abs(aheadMs) < CLOCK_OFF_MS || performance.now() - reportedMs < CLOCK_REPORT_EVERY_MS) return;
    reportedMs = performance.now();
    await queueAlert(redis, keysOf(0), clockAlert(name, aheadMs));
  };
}

/** Errors about data are trouble of the watchdog, and not of Redis. */
function attribute(error: unknown, { redis, watch }: Watching['troubles']): void {
  if (isAboutData(error)) {
    redis.worked();
    watch.failed(error);
  } else redis.failed(error);
}

/** Enters queued alerts into the book; when a check of the state is due, also what is missing. Returns whether one was. */
function createLook(
  env: ProcessEnv,
  redis: RedisClient,
  deadMan: DeadMan | undefined,
  seen: Seen,
  list: ReturnType<typeof openWorkerList>,
  reportClock: (aheadMs: number) => Promise<void>,
): () => Promise<boolean> {
  const { settings, log } = env;
  const everyMs = env.limits.watchEveryMs;
  const limits = ruleLimitsOf(env);
  const store = createBookStore(redis);
  const readSnapshot = createSnapshotReader(redis, settings.SHARDS, limits.unansweredMs, limits.totals);
  const capLetters = createLetterCap(redis, limits.deadLettersMax, log);
  const keepBook = createBookKeeper(redis, store, settings.SHARDS, log);
  let sinceMs: number | undefined;
  let nextLookMs = performance.now() + everyMs;
  return async () => {
    const begunMs = performance.now();
    const isLook = begunMs >= nextLookMs;
    if (isLook) nextLookMs = begunMs + everyMs;
    const askedMs = Date.now();
    const nowMs = await list.show();
    await reportClock(clockAheadMs(askedMs, nowMs, Date.now()));
    if (isLook) await list.strikeEnded(nowMs);
    sinceMs ??= nowMs;
    const stored = await store.read();
    const now = isLook ? await readSnapshot({ nowMs, open: openIn(stored.book) }) : undefined;
    if (now) nextLookMs = Math.max(nextLookMs, begunMs + LOOK_SHARE * (performance.now() - begunMs));
    const watch = now && { now, before: seen.last, sinceMs, limits };
    const checked = watch && checkRules(watch);
    const kept = await keepBook(stored, nowMs, checked);
    seen.book = kept.book;
    // Parts of a snapshot that cannot be read throw where they are used; the book names them.
    if (now && kept.isWhole) await capLetters(now, stored);
    if (seen.refusedWrites === undefined && kept.isWhole && checked && mayPing(watch, checked)) deadMan?.ping();
    seen.last = now ?? seen.last;
    if (watch && kept.isWhole && !seen.hasBegun && isPolled(watch)) {
      await endStart(redis);
      seen.hasBegun = true;
    }
    return now !== undefined;
  };
}

/** The names of the incidents that are open, as the rules look at them. */
function openIn(book: Book): ReadonlySet<string> {
  return new Set([...book].filter(([, { isOpen }]) => isOpen).map(([name]) => name));
}
