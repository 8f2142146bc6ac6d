import { type Service, within } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { endStart, findRefusedWrites, type RefusedWritesError } from '../../shared/state/process/process.ts';
import { openWorkerList, type Self } from '../../shared/state/process/workers.ts';
import type { Book } from '../alerts/book.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { uncleanEndAlert } from '../alerts/causes/watch.ts';
import { isAboutData, type Trouble } from '../alerts/redis-trouble.ts';
import { createBookKeeper } from './book-keeper.ts';
import { createDeadMan, type DeadMan } from './dead-man.ts';
import { createLetterCap } from './letter-cap.ts';
import type { Watching } from './readiness.ts';
import { checkRules, isPolled, isWell, type RuleLimits } from './rules.ts';
import { createSnapshotReader, type Snapshot } from './snapshot.ts';

export interface WatchdogPorts {
  /** A fail-fast connection of its own; closed on stop. */
  redis: RedisClient;
  shards: number;
  log: Logger;
  /** How often alerts are entered into the book, and how often the state is checked. */
  everyMs: { alerts: number; look: number };
  limits: RuleLimits;
  /** Alerts that need no book: Redis takes no writes, or the watchdog fails although Redis takes them. */
  trouble: { redis: Trouble; watch: Trouble };
  /** Pinged after every check that found nothing, where one is configured. */
  deadMan?: { url: string; everyMs: number | undefined };
}

export const ALERTS_READ_EVERY_MS = 1_000;
export const WATCH_EVERY_MS = 5_000;

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
export function startWatchdog(ports: WatchdogPorts, self: Self): Service & Watching {
  const seen: Seen = { book: new Map() };
  const deadMan = ports.deadMan && createDeadMan({ ...ports.deadMan, log: ports.log });
  const list = openWorkerList(ports.redis, self, uncleanEndAlert);
  const look = createLook(ports, deadMan, seen, list);
  const loop = runLoop({
    name: 'watchdog',
    // The first check waits, so that work left over from the last run can be done first.
    firstAfterMs: ports.everyMs.alerts,
    async round(signal) {
      const { redis, trouble } = ports;
      seen.refusedWrites = await findRefusedWrites(redis, ports.shards, trouble.redis.sinceMs() !== undefined);
      try {
        // A round that reads only alerts proves nothing about a check of the state.
        if (await look()) trouble.watch.worked();
        if (seen.refusedWrites === undefined) trouble.redis.worked();
        else if (!signal.aborted) trouble.redis.failed(seen.refusedWrites);
        return ports.everyMs.alerts;
      } catch (error) {
        seen.last = undefined;
        if (!signal.aborted) attribute(seen.refusedWrites ?? error, trouble);
        throw error;
      }
    },
    retryMs: ports.everyMs.alerts,
    onError: (error) => ports.log.warn({ err: error }, 'the watchdog could not look; it tries again'),
  });
  return {
    name: loop.name,
    snapshot: () => seen.last,
    book: () => seen.book,
    redisTroubleSinceMs: () => ports.trouble.redis.sinceMs(),
    refusedWrites: () => seen.refusedWrites,
    watchTroubleSinceMs: () => ports.trouble.watch.sinceMs(),
    async stop() {
      const stopped = loop.stop();
      // The process leaves after the last round: a sign of life after it would look like a crash.
      const left = stopped.then(() => list.leave()).catch(() => {});
      await within(left, LEAVE_MS);
      ports.redis.disconnect();
      await deadMan?.stop();
    },
  };
}

/** Errors about data are trouble of the watchdog, and not of Redis. */
function attribute(error: unknown, { redis, watch }: WatchdogPorts['trouble']): void {
  if (isAboutData(error)) {
    redis.worked();
    watch.failed(error);
  } else redis.failed(error);
}

/** Enters queued alerts into the book; when a check of the state is due, also what is missing. Returns whether one was. */
function createLook(
  ports: WatchdogPorts,
  deadMan: DeadMan | undefined,
  seen: Seen,
  list: ReturnType<typeof openWorkerList>,
): () => Promise<boolean> {
  const store = createBookStore(ports.redis);
  const readSnapshot = createSnapshotReader(ports.redis, ports.shards, ports.limits.unansweredMs, ports.limits.totals);
  const capLetters = createLetterCap({ ...ports, lettersMax: ports.limits.deadLettersMax });
  const keepBook = createBookKeeper({ ...ports, store });
  let sinceMs: number | undefined;
  let nextLookMs = performance.now() + ports.everyMs.look;
  return async () => {
    const begunMs = performance.now();
    const isLook = begunMs >= nextLookMs;
    if (isLook) nextLookMs = begunMs + ports.everyMs.look;
    const nowMs = await list.show();
    if (isLook) await list.strikeEnded(nowMs);
    sinceMs ??= nowMs;
    const stored = await store.read();
    const now = isLook ? await readSnapshot({ nowMs, open: openIn(stored.book) }) : undefined;
    if (now) nextLookMs = Math.max(nextLookMs, begunMs + LOOK_SHARE * (performance.now() - begunMs));
    const watch = now && { now, before: seen.last, sinceMs, limits: ports.limits };
    const checked = watch && checkRules(watch);
    const kept = await keepBook(stored, nowMs, checked);
    seen.book = kept.book;
    // Parts of a snapshot that cannot be read throw where they are used; the book names them.
    if (now && kept.isWhole) await capLetters(now, stored);
    if (seen.refusedWrites === undefined && kept.isWhole && checked && isWell(watch, checked)) deadMan?.ping();
    seen.last = now ?? seen.last;
    if (watch && kept.isWhole && !seen.hasBegun && isPolled(watch)) {
      await endStart(ports.redis);
      seen.hasBegun = true;
    }
    return now !== undefined;
  };
}

/** The names of the incidents that are open, as the rules look at them. */
function openIn(book: Book): ReadonlySet<string> {
  return new Set([...book].filter(([, { isOpen }]) => isOpen).map(([name]) => name));
}
