import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Book, enter } from '../alerts/book.ts';
import { type BookStore, type ShardAlerts, type StoredBook, unreadCondition } from '../alerts/book-store.ts';
import { countLettersOf } from '../alerts/letter-counts.ts';
import { isUpToDate } from '../alerts/next-sending.ts';
import { isAboutData, type WatchFailure } from '../alerts/watch-failure.ts';
import type { CheckResult } from './rules.ts';

/**
 * Creates a function that enters queued alerts and the results of a check, if any, into the book. It logs each occurrence,
 * and the first failure of each part of the watch. If another process writes the book first, the function enters nothing,
 * and the next call tries again. It returns the present book, and whether every part of the watch worked.
 */
export function createBookKeeper(redis: RedisClient, store: BookStore, shards: number, log: Logger) {
  const loggedFailures = new Set<string>();
  const logNew = (failures: readonly WatchFailure[]): void => {
    for (const { what, error } of failures) {
      if (!loggedFailures.has(what)) log.error({ err: error, what }, 'a part of the watch fails');
      loggedFailures.add(what);
    }
  };
  return async (stored: StoredBook, nowMs: number, check: CheckResult | undefined) => {
    const queue = await readAlerts(store, shards, stored);
    const unreadConditions = stored.unread.size > 0 ? [unreadCondition([...stored.unread.keys()])] : [];
    const conditions = check && [...check.conditions, ...unreadConditions];
    const alerts = queue.shardAlerts.flatMap((each) => each.alerts);
    const { letters, failures: letterFailures } = check
      ? await countLetters(redis, shards, stored.book, nowMs)
      : { letters: undefined, failures: [] };
    const { book, failures } = enter(stored.book, {
      alerts,
      conditions,
      letters,
      failures: [...(check?.failures ?? []), ...queue.failures, ...letterFailures],
      isDelivered: (incident) => isUpToDate(incident, stored),
      nowMs,
    });
    logNew(failures);
    if (check && failures.length === 0) loggedFailures.clear();
    const isUnchanged = book.size === stored.book.size && [...book].every(([id, each]) => stored.book.get(id) === each);
    const isCurrent =
      (isUnchanged && queue.shardAlerts.length === 0) || (await store.record(stored, book, queue.shardAlerts));
    if (isCurrent) for (const { text, ...about } of alerts) log.info({ ...about, occurrence: text }, 'occurrence');
    return { book: isCurrent ? book : stored.book, isWhole: failures.length === 0 };
  };
}

interface LetterCounts {
  letters?: ReadonlyMap<string, number>;
  failures: readonly WatchFailure[];
}

/** Counts the dead letters of each incident. Unreadable data becomes a failure, so that everything else can be entered. */
async function countLetters(redis: RedisClient, shards: number, book: Book, nowMs: number): Promise<LetterCounts> {
  try {
    return { letters: await countLettersOf(redis, shards, book, nowMs), failures: [] };
  } catch (error) {
    if (!isAboutData(error)) throw error;
    return { failures: [{ what: 'dead letters', error }] };
  }
}

/** Reads the queued alerts of each shard. A shard with unreadable data becomes a failure and blocks no other shard. */
async function readAlerts(store: BookStore, shards: number, { cursors }: StoredBook) {
  const shardAlerts: ShardAlerts[] = [];
  const failures: WatchFailure[] = [];
  for (let shard = 0; shard < shards; shard++) {
    try {
      const alerts = await store.alertsOf(shard, cursors.get(shard));
      if (alerts) shardAlerts.push(alerts);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      failures.push({ what: `alerts of shard ${shard}`, error });
    }
  }
  return { shardAlerts, failures };
}
