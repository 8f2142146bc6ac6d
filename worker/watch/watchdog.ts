import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { enter } from '../alerts/book.ts';
import { type BookStore, createBookStore, type ShardNews, type StoredBook } from '../alerts/book-store.ts';
import type { Condition } from '../alerts/incident.ts';
import type { Links } from '../alerts/notice-text.ts';
import type { RedisTrouble } from '../alerts/redis-trouble.ts';
import { createDeadMan, type DeadMan } from './dead-man.ts';
import { createLetterCap } from './letter-cap.ts';
import { openWorkerList, type RunningMessages, type WorkerList } from './processes.ts';
import type { Watching } from './readiness.ts';
import { conditionsOf, isIntended, isPolled, type RuleLimits } from './rules.ts';
import { createSnapshotReader, type Snapshot } from './snapshot.ts';

export interface WatchdogPorts {
  /** A fail-fast connection of its own; closed on stop. */
  redis: RedisClient;
  shards: number;
  log: Logger;
  /** How often alerts are entered into the book, and how often the state is checked. */
  everyMs: { news: number; look: number };
  limits: RuleLimits;
  /** What a notice links to. */
  links: Links;
  trouble: RedisTrouble;
  /** Pinged after every check that found nothing, where one is configured. */
  deadMan?: { url: string; everyMs: number };
}

export const NEWS_EVERY_MS = 1_000;
export const WATCH_EVERY_MS = 5_000;

const LEAVE_MS = 1_000;

/** The name of this process in the list of all, and what runs in it. */
export interface Self {
  name: string;
  running: RunningMessages;
}

/** What the last check saw. */
interface Seen {
  last?: Snapshot | undefined;
}

/**
 * Keeps the book of incidents: enters alerts as they arrive, and regularly checks the state for what is missing
 * (answers, running jobs, polls, an endpoint that answers, room in Redis). The book is kept in Redis, one for the whole
 * installation: several watchdogs may run side by side, and any of them closes what another opened. A failed check is
 * logged and repeated; when Redis takes no writes for long, the operator is notified without it.
 *
 * The dead-man's switch is pinged only when no condition holds at all, but what an operator has paused, and Telegram was polled recently. A single
 * message of one user that waits too long also stops the pings: where a bot has one user, that is an outage.
 */
export function startWatchdog(ports: WatchdogPorts, self: Self): Service & Watching {
  const seen: Seen = {};
  const deadMan = ports.deadMan && createDeadMan({ ...ports.deadMan, log: ports.log });
  const list = openWorkerList(ports.redis, self.name, self.running);
  const look = createLook(ports, deadMan, seen, list);
  const loop = runLoop({
    name: 'watchdog',
    // The first check waits, so that work left over from the last run can be done first.
    firstAfterMs: ports.everyMs.news,
    async round(signal) {
      try {
        await look();
        return ports.everyMs.news;
      } catch (error) {
        seen.last = undefined;
        if (!signal.aborted) ports.trouble.failed(error);
        throw error;
      }
    },
    retryMs: ports.everyMs.news,
    onError: (error) => ports.log.warn({ err: error }, 'the watchdog could not look; it tries again'),
  });
  return {
    name: loop.name,
    snapshot: () => seen.last,
    redisTroubleSinceMs: () => ports.trouble.sinceMs(),
    async stop() {
      const stopped = loop.stop();
      // Whoever shows itself after it has left seems to be killed.
      const left = stopped.then(() => list.leave()).catch(() => {});
      const late = new AbortController();
      await Promise.race([left, pause(LEAVE_MS, late.signal)]);
      late.abort();
      ports.redis.disconnect();
      await deadMan?.stop();
      await stopped;
    },
  };
}

/** Enters the news into the book; when a check of the state is due, also what is missing. */
function createLook(
  ports: WatchdogPorts,
  deadMan: DeadMan | undefined,
  seen: Seen,
  list: WorkerList,
): () => Promise<void> {
  const store = createBookStore(ports.redis);
  const readSnapshot = createSnapshotReader(ports.redis, ports.shards, ports.limits.unansweredMs);
  const capLetters = createLetterCap({ ...ports, lettersMax: ports.limits.deadLettersMax });
  let sinceMs: number | undefined;
  let nextLookMs = performance.now() + ports.everyMs.look;
  return async () => {
    const isLook = performance.now() >= nextLookMs;
    if (isLook) nextLookMs = performance.now() + ports.everyMs.look;
    // Proves that Redis takes writes.
    const nowMs = await list.show();
    if (isLook) await list.strikeEnded(nowMs);
    sinceMs ??= nowMs;
    const stored = await store.read();
    const now = isLook ? await readSnapshot({ nowMs, open: openIn(stored) }) : undefined;
    const watch = now && { now, before: seen.last, sinceMs, limits: ports.limits };
    const conditions = watch && conditionsOf(watch);
    await keepBook({ ...ports, store }, stored, { nowMs, ...(conditions && { conditions }) });
    if (now) await capLetters(now, stored.book);
    ports.trouble.worked();
    if (watch && conditions?.every(isIntended) && isPolled(watch)) deadMan?.ping();
    seen.last = now ?? seen.last;
  };
}

/** Enters what is new, and logs each occurrence. When another process wrote first, the rest is entered next time. */
async function keepBook(
  { store, shards, log, links }: { store: BookStore; shards: number; log: Logger; links: Links },
  stored: StoredBook,
  seen: { nowMs: number; conditions?: readonly Condition[] },
): Promise<void> {
  const all = await Promise.all(
    Array.from({ length: shards }, (_, shard) => store.news(shard, stored.cursors.get(shard))),
  );
  const news: ShardNews[] = all.filter((each) => each !== undefined);
  const { book, notices } = enter(stored.book, { ...seen, alerts: news.flatMap(({ alerts }) => alerts) }, links);
  const isSame = book.size === stored.book.size && [...book].every(([id, each]) => stored.book.get(id) === each);
  if (isSame && news.length === 0) return;
  if (!(await store.record(stored, book, notices, news))) return;
  for (const { text, ...about } of news.flatMap(({ alerts }) => alerts))
    log.info({ ...about, occurrence: text }, 'occurrence');
}

function openIn({ book }: StoredBook): ReadonlySet<string> {
  return new Set([...book].filter(([, { isOpen }]) => isOpen).map(([id]) => id));
}
