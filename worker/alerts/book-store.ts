import { join } from 'node:path';
import type { Alert } from '../../shared/flow/alert.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { fieldsOf, idAfter, isStreamId } from '../../shared/redis/stream.ts';
import type { Book, Notice } from './book.ts';
import type { Incident } from './incident.ts';
import { alertOf, INCIDENT_VERSION, readIncident } from './other-version.ts';

/** The book as it was read, with the position up to which each shard's alerts are entered. */
export interface StoredBook {
  version: number;
  book: Book;
  /** What stands in the book and this version does not know, as it was written, by name. */
  unread: ReadonlyMap<string, string>;
  cursors: ReadonlyMap<number, string>;
}

/** Alerts of one shard that are not in the book yet, and the position of the last one. */
export interface ShardNews {
  shard: number;
  alerts: readonly Alert[];
  upTo: string;
}

/**
 * The book of incidents in Redis. One book serves the whole installation, and any process may write it.
 *
 * Contract: each method rejects when Redis cannot be reached. An alert is entered once: the position in a shard's
 * alerts is written with the book. `record` returns false, and writes nothing, when another process has written since
 * the read. What another version wrote stays as it is, whatever it is; where an incident of ours takes its name, it is put
 * aside.
 */
export interface BookStore {
  read(): Promise<StoredBook>;
  /** The alerts after a cursor, oldest first, a few hundred at a time at most. */
  news(shard: number, cursor: string | undefined): Promise<ShardNews | undefined>;
  record(before: StoredBook, after: Book, notices: readonly Notice[], news: readonly ShardNews[]): Promise<boolean>;
}

const NEWS_MAX = 500;
const INCIDENT = 'incident:';
const CURSOR = 'cursor:';
/** What this version could not read, and had to make way. */
const ASIDE = 'aside:';

/** Binds the book to a connection. */
export function createBookStore(redis: RedisClient): BookStore {
  const keys = keysOf(0);
  const record = bindScript<0 | 1>(redis, join(import.meta.dirname, 'record-incidents.lua'));
  return {
    read: async () => storedBook(await redis.hgetall(keys.incidents)),
    async news(shard, cursor = '0-0') {
      const entries = await redis.xrange(keysOf(shard).alerts, `(${cursor}`, '+', 'COUNT', NEWS_MAX);
      const upTo = entries.at(-1)?.[0];
      if (upTo === undefined) return undefined;
      return { shard, alerts: entries.map(([id, fields]) => alertOf(id, fieldsOf(fields).get('alert'))), upTo };
    },
    async record(before, after, notices, news) {
      const fields = [...changesOf(before, after), ...news.map(({ shard, upTo }) => [CURSOR + shard, upTo])].flat();
      const args = [before.version, fields.length / 2, ...fields, ...notices.map((notice) => JSON.stringify(notice))];
      if ((await record([keys.incidents, keys.notices], args)) === 0) return false;
      await Promise.all(news.map(({ shard, upTo }) => dropUpTo(redis, keysOf(shard), upTo)));
      return true;
    },
  };
}

/**
 * If the process is killed before this, an alert stays in the stream but is not entered again: it lies before the
 * cursor.
 */
async function dropUpTo(redis: RedisClient, keys: Keys, upTo: string): Promise<void> {
  await redis.xtrim(keys.alerts, 'MINID', idAfter(upTo));
}

function changesOf({ book, unread }: StoredBook, after: Book): string[][] {
  const put = [...after].filter(([id, incident]) => book.get(id) !== incident);
  const gone = [...book.keys()].filter((id) => !after.has(id));
  return [
    ...put.flatMap(([id]) => (unread.has(id) ? [[ASIDE + id, unread.get(id) ?? '']] : [])),
    ...put.map(([id, incident]) => [INCIDENT + id, JSON.stringify({ v: INCIDENT_VERSION, ...incident })]),
    ...gone.map((id) => [INCIDENT + id, '']),
  ];
}

function storedBook(fields: Record<string, string>): StoredBook {
  const book = new Map<string, Incident>();
  const unread = new Map<string, string>();
  const cursors = new Map<number, string>();
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith(CURSOR) && isStreamId(value)) cursors.set(Number(field.slice(CURSOR.length)), value);
    if (field.startsWith(ASIDE)) unread.set(field, value);
    if (!field.startsWith(INCIDENT)) continue;
    const id = field.slice(INCIDENT.length);
    const incident = readIncident(id, value);
    if (incident === undefined) unread.set(id, value);
    else book.set(id, incident);
  }
  return { version: Number(fields.version) || 0, book, unread, cursors };
}
