import type { Logger } from '../../shared/base/log.ts';
import { type Book, enter } from '../alerts/book.ts';
import { type BookStore, type ShardNews, type StoredBook, unreadCondition } from '../alerts/book-store.ts';
import type { Surroundings } from '../alerts/notice-text.ts';
import { isAboutData } from '../alerts/redis-trouble.ts';
import type { WatchFailure } from '../alerts/watch-failure.ts';
import type { Checked } from './rules.ts';

export interface BookKeeperPorts {
  store: BookStore;
  shards: number;
  log: Logger;
  around: Surroundings;
}

/**
 * Enters what is new, and logs each occurrence and failure. When another process wrote first, the rest is entered next
 * time. Returns the book as it is now, and whether no part of the watch failed.
 */
export function createBookKeeper({ store, shards, log, around }: BookKeeperPorts) {
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
    const news = await readNews(store, shards, stored);
    const { unread } = stored;
    const conditions = checked && [
      ...checked.conditions,
      ...(unread.size > 0 ? [unreadCondition([...unread.keys()])] : []),
    ];
    const failed = [...(checked?.failures ?? []), ...news.failures];
    const alerts = news.read.flatMap((each) => each.alerts);
    const observed = { alerts, ...(conditions && { conditions }), failures: failed, nowMs };
    const { book, notices, failures } = enter(stored.book, observed, around);
    logNew(failures);
    if (checked && failures.length === 0) logged.clear();
    const isSame = book.size === stored.book.size && [...book].every(([id, each]) => stored.book.get(id) === each);
    const isWritten = (isSame && news.read.length === 0) || (await store.record(stored, book, notices, news.read));
    if (isWritten) for (const { text, ...about } of alerts) log.info({ ...about, occurrence: text }, 'occurrence');
    return { book: isWritten ? book : stored.book, isWhole: failures.length === 0 };
  };
}

/** What is new in each shard; one that cannot be read keeps no other from being heard. */
async function readNews(store: BookStore, shards: number, { cursors }: StoredBook) {
  const read: ShardNews[] = [];
  const failures: WatchFailure[] = [];
  for (let shard = 0; shard < shards; shard++) {
    try {
      const news = await store.news(shard, cursors.get(shard));
      if (news) read.push(news);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      failures.push({ what: `alerts of shard ${shard}`, error });
    }
  }
  return { read, failures };
}
