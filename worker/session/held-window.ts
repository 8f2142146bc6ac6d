import { hash } from 'node:crypto';
import { CacheSpace } from '../../shared/base/cache-space.ts';
import type { SessionId } from '../../shared/redis/keys.ts';
import type { CachedEnd, OpenReply } from '../../shared/state/session/log.ts';
import { decodeRecord, type LogRecord } from './record.ts';
import type { Window } from './view.ts';

/** A session as loaded for a turn, with its size. */
export interface LoadedSession {
  window: Window;
  /** The number of records of the whole session, including archived records and the pending message. */
  logRecords: number;
  /** The index of the window's first record, counted from the session's first record. */
  firstIndex: number;
  bytes: number;
}

/** A session after a record was appended to it. */
export function withRecord(loadedSession: LoadedSession, record: LogRecord): LoadedSession {
  const records = [...loadedSession.window.records, record];
  return { ...loadedSession, window: { ...loadedSession.window, records }, logRecords: loadedSession.logRecords + 1 };
}

/** The newest records of a log as of the last load, with their sizes. The next load reads only newer records. */
export interface CachedWindow {
  /** Oldest first, without a gap. */
  readonly records: readonly LogRecord[];
  /** The size of each record's line, in bytes. */
  readonly sizes: readonly number[];
  /** The index of the first of these records, counted from the session's first record. */
  readonly firstIndex: number;
  /** SHA-1 of the newest line. The line contains a random id, so the hash identifies the log. */
  readonly newestSha1: string;
  readonly head: Head | undefined;
}

interface Head {
  readonly index: number;
  readonly record: LogRecord;
  readonly bytes: number;
}

/** The end of a cached window, as arguments of `open.lua`; without a window, arguments that match no record. */
export function placeOf(cached: CachedWindow | undefined): CachedEnd {
  if (cached === undefined) return [0, '', -1];
  return [cached.firstIndex + cached.records.length, cached.newestSha1, cached.head?.index ?? -1];
}

/**
 * Builds the same window as a full load, from the new records of a load and the cached records that are still in the log.
 * `undefined` if the cached records do not reach back far enough, or if another attempt has taken over the turn. Pure.
 */
export function readWindow(
  cached: CachedWindow | undefined,
  reply: OpenReply,
  bytesMax: number,
): { loadedSession: LoadedSession; toCache: CachedWindow } | undefined {
  if (reply[0] === 'fenced') return undefined;
  const [, logRecords, newFirst, windowStart, headLine, lines, headIndex, start, pending, isCacheValid] = reply;
  const sizes = lines.map((line) => Buffer.byteLength(line));
  const valid = isCacheValid === 1 ? cached : undefined;
  const head = headOf(headIndex, headLine, valid);
  // Whether the new records follow the cached ones without a gap.
  const isAdjacent = valid !== undefined && newFirst === valid.firstIndex + valid.records.length;
  const oldFirst = isAdjacent ? firstVisible(valid, { start, pending, bytesMax: bytesMax - sum(sizes) }) : newFirst;
  if (oldFirst === undefined) return undefined;
  const newRecords = lines.map(decodeRecord);
  const all = isAdjacent
    ? appendNew(valid, start, newRecords, sizes)
    : { records: newRecords, sizes, firstIndex: newFirst };
  const records = oldFirst === all.firstIndex ? all.records : all.records.slice(oldFirst - all.firstIndex);
  const visibleSizes = all.sizes.slice(oldFirst - all.firstIndex);
  // Without a head, nothing stands for the records before the window, so all of them count as omitted.
  const omitted = Math.max(0, head === undefined ? oldFirst : oldFirst - windowStart);
  const bytes = sum(visibleSizes) + (head?.bytes ?? 0);
  const newest = lines.at(-1);
  const newestSha1 = newest === undefined ? (valid?.newestSha1 ?? '') : hash('sha1', newest);
  return {
    loadedSession: { window: { head: head?.record, records, omitted }, logRecords, firstIndex: oldFirst, bytes },
    toCache: { ...all, newestSha1, head },
  };
}

function headOf(index: number, line: string, cached: CachedWindow | undefined): Head | undefined {
  if (line !== '') return { index, record: decodeRecord(line), bytes: Buffer.byteLength(line) };
  return index < 0 ? undefined : cached?.head;
}

/** The index at which a full load would begin, by the rule of `open.lua`; `undefined` if the cache has no records so old. */
function firstVisible(
  { records, sizes, firstIndex }: CachedWindow,
  { start, pending, bytesMax }: { start: number; pending: number; bytesMax: number },
): number | undefined {
  let first = firstIndex + records.length;
  for (let rest = bytesMax; first > start; first -= 1) {
    if (rest <= 0 && first <= pending) return first;
    const size = sizes[first - 1 - firstIndex];
    if (size === undefined) return undefined;
    rest -= size;
    if (rest < 0 && first <= pending) return first;
  }
  return first;
}

/** The cached records from the index `start` on, followed by the new records. */
function appendNew(cached: CachedWindow, start: number, newRecords: readonly LogRecord[], sizes: readonly number[]) {
  const skipCount = Math.max(0, start - cached.firstIndex);
  return {
    records: [...cached.records.slice(skipCount), ...newRecords],
    sizes: [...cached.sizes.slice(skipCount), ...sizes],
    firstIndex: cached.firstIndex + skipCount,
  };
}

function sum(sizes: readonly number[]): number {
  let bytes = 0;
  for (const size of sizes) bytes += size;
  return bytes;
}

/** Windows with fewer records are not cached, because decoding them is cheap. */
const RECORDS_MIN = 16;
/** The estimated bytes of memory that the objects of a record, or of a window, take in addition to their text. */
const RECORD_BYTES = 700;
const WINDOW_BYTES = 1_000;

/**
 * A cache of decoded windows, by session. Each load checks whether the cached records are still in the log, so a cached window
 * may be missing, old, or from a log that Redis has lost.
 *
 * Contract: never exceeds its space, which other caches may share.
 */
export class WindowCache {
  readonly #space: CacheSpace;
  readonly #recordsMin: number;
  readonly #windows = new Map<SessionId, CachedWindow>();

  constructor({ space = new CacheSpace(), recordsMin = RECORDS_MIN } = {}) {
    this.#space = space;
    this.#recordsMin = recordsMin;
  }

  /** The cached window of a session, if any. */
  of(session: SessionId): CachedWindow | undefined {
    return this.#windows.get(session);
  }

  /** Replaces the cached window of a session. Does not cache a window that is too short or too large. */
  store(session: SessionId, window: CachedWindow): void {
    const drop = () => this.#windows.delete(session);
    drop();
    this.#space.release(session);
    if (window.records.length < this.#recordsMin || window.records.length === 0) return;
    const bytes = WINDOW_BYTES + (window.head?.bytes ?? 0) + sum(window.sizes) + window.sizes.length * RECORD_BYTES;
    if (this.#space.hold(session, bytes, drop)) this.#windows.set(session, window);
  }
}
