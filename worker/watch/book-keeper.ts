import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Book, enter } from '../alerts/book.ts';
import { type BookStore, type ShardAlerts, type StoredBook, unreadCondition } from '../alerts/book-store.ts';
import { countLettersOf } from '../alerts/letter-counts.ts';
import { isUpToDate } from '../alerts/next-sending.ts';
import { isAboutData, type WatchFailure } from '../alerts/watch-failure.ts';
import type { Checked } from './rules.ts';

/**
 * Enters what is new into the book, and logs each occurrence and failure. When another process wrote first, the rest is
 * entered next time. Returns the book as it is now, and whether no part of the watch failed.
 */
export function createBookKeeper(redis: RedisClient, store: BookStore, shards: number, log: Logger) {
  const logged = new Set<string>();
  const logNew = (failures: readonly WatchFailure[]): void => {
    for (const { what, error } of failures) {
      if (!logged.has(what)) log.error({ err: error, what }, 'a part of the watch fails');
      logged.add(what);
    }
  };
  return async (
    stored: StoredBook,
    nowMs: number,
    checked: Checked | undefined,
  ): Promise<{ book: Book; isWhole: boolean }> => {
    const queued = await readAlerts(store, shards, stored);
    const { unread } = stored;
    const conditions = checked && [
      ...checked.conditions,
      ...(unread.size > 0 ? [unreadCondition([...unread.keys()])] : []),
    ];
    const alerts = queued.read.flatMap((each) => each.alerts);
    const { letters, failures: uncounted } = checked
      ? await countLetters(redis, shards, stored.book, nowMs)
      : NOT_COUNTED;
    const { book, failures } = enter(stored.book, {
      alerts,
      conditions,
      letters,
      failures: [...(checked?.failures ?? []), ...queued.failures, ...uncounted],
      isDelivered: (incident) => isUpToDate(incident, stored),
      nowMs,
    });
    logNew(failures);
    if (checked && failures.length === 0) logged.clear();
    const isSame = book.size === stored.book.size && [...book].every(([id, each]) => stored.book.get(id) === each);
    const isWritten = (isSame && queued.read.length === 0) || (await store.record(stored, book, queued.read));
    if (isWritten) for (const { text, ...about } of alerts) log.info({ ...about, occurrence: text }, 'occurrence');
    return { book: isWritten ? book : stored.book, isWhole: failures.length === 0 };
  };
}

interface CountedLetters {
  letters?: ReadonlyMap<string, number>;
  failures: readonly WatchFailure[];
}

const NOT_COUNTED: CountedLetters = { failures: [] };

/** The dead letters of each incident; where they cannot be read, everything else is entered. */
async function countLetters(redis: RedisClient, shards: number, book: Book, nowMs: number): Promise<CountedLetters> {
  try {
    return { letters: await countLettersOf(redis, shards, book, nowMs), failures: [] };
  } catch (error) {
    if (!isAboutData(error)) throw error;
    return { failures: [{ what: 'dead letters', error }] };
  }
}

/** The queued alerts of each shard; a shard that cannot be read keeps no other from being heard. */
async function readAlerts(store: BookStore, shards: number, { cursors }: StoredBook) {
  const read: ShardAlerts[] = [];
  const failures: WatchFailure[] = [];
  for (let shard = 0; shard < shards; shard++) {
    try {
      const alerts = await store.alertsOf(shard, cursors.get(shard));
      if (alerts) read.push(alerts);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      failures.push({ what: `alerts of shard ${shard}`, error });
    }
  }
  return { read, failures };
}
