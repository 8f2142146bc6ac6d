import { hash } from 'node:crypto';
import { CacheSpace } from '../../shared/base/cache-space.ts';
import type { SessionId } from '../../shared/redis/keys.ts';
import type { CachedEnd, OpenReply } from '../../shared/state/session/log.ts';
import { decodeRecord, type LogRecord } from './record.ts';
import type { Window } from './view.ts';

/** The session as loaded for a turn, with its size. */
export interface OpenedSession {
  window: Window;
  /** Records of the whole session, archived ones and the pending message included. */
  logRecords: number;
  /** Index of the window's first record, counted since the session's first. */
  firstIndex: number;
  bytes: number;
}

/** A session after a record was appended to it. */
export function withRecord(opened: OpenedSession, record: LogRecord): OpenedSession {
  const records = [...opened.window.records, record];
  return { ...opened, window: { ...opened.window, records }, logRecords: opened.logRecords + 1 };
}

/** The newest records of a log as a load left them, with their sizes: the next load goes on behind them. */
export interface HeldWindow {
  /** Oldest first, without a gap. */
  readonly records: readonly LogRecord[];
  /** The bytes of each record's line. */
  readonly sizes: readonly number[];
  /** Index of the first of them, counted since the session's first record. */
  readonly firstIndex: number;
  /** SHA-1 of the newest line. It holds a random id, so no other log has it in that place. */
  readonly newestSha1: string;
  readonly head: Head | undefined;
}

interface Head {
  readonly index: number;
  readonly record: LogRecord;
  readonly bytes: number;
}

/** Where a held window ends, as `open.lua` is told. */
export function placeOf(held: HeldWindow | undefined): CachedEnd {
  if (held === undefined) return [0, '', -1];
  return [held.firstIndex + held.records.length, held.newestSha1, held.head?.index ?? -1];
}

/**
 * The window that a load has read: what is new, behind what was held where that still stands in the log. Exactly what a
 * load of everything would give. Undefined when more of the log is wanted than was held, and after a reply of a turn
 * that was taken over. Pure.
 */
export function readWindow(
  held: HeldWindow | undefined,
  reply: OpenReply,
  bytesMax: number,
): { opened: OpenedSession; held: HeldWindow } | undefined {
  if (reply[0] === 'fenced') return undefined;
  const [, logRecords, newFirst, windowStart, headLine, lines, headIndex, start, pending, isHeld] = reply;
  const sizes = lines.map((line) => Buffer.byteLength(line));
  const before = isHeld === 1 ? held : undefined;
  const head = headOf(headIndex, headLine, before);
  // The load went on to the end of what is held, or ended before it.
  const isJoined = before !== undefined && newFirst === before.firstIndex + before.records.length;
  const oldFirst = isJoined ? firstShown(before, { start, pending, left: bytesMax - sum(sizes) }) : newFirst;
  if (oldFirst === undefined) return undefined;
  const fresh = lines.map(decodeRecord);
  const all = isJoined ? joined(before, start, fresh, sizes) : { records: fresh, sizes, firstIndex: newFirst };
  const records = oldFirst === all.firstIndex ? all.records : all.records.slice(oldFirst - all.firstIndex);
  const shownSizes = all.sizes.slice(oldFirst - all.firstIndex);
  // A window without its head knows nothing of the earlier records.
  const omitted = Math.max(0, head === undefined ? oldFirst : oldFirst - windowStart);
  const bytes = sum(shownSizes) + (head?.bytes ?? 0);
  const newest = lines.at(-1);
  const newestSha1 = newest === undefined ? (before?.newestSha1 ?? '') : hash('sha1', newest);
  return {
    opened: { window: { head: head?.record, records, omitted }, logRecords, firstIndex: oldFirst, bytes },
    held: { ...all, newestSha1, head },
  };
}

function headOf(index: number, line: string, before: HeldWindow | undefined): Head | undefined {
  if (line !== '') return { index, record: decodeRecord(line), bytes: Buffer.byteLength(line) };
  return index < 0 ? undefined : before?.head;
}

/** How far back a load of everything would have gone; undefined when that is beyond what is held. As in `open.lua`. */
function firstShown(
  { records, sizes, firstIndex }: HeldWindow,
  { start, pending, left }: { start: number; pending: number; left: number },
): number | undefined {
  let first = firstIndex + records.length;
  for (let rest = left; first > start; first -= 1) {
    if (rest <= 0 && first <= pending) return first;
    const size = sizes[first - 1 - firstIndex];
    if (size === undefined) return undefined;
    rest -= size;
    if (rest < 0 && first <= pending) return first;
  }
  return first;
}

/** The held records that may still be shown, with the new ones. */
function joined(held: HeldWindow, start: number, fresh: readonly LogRecord[], sizes: readonly number[]) {
  const gone = Math.max(0, start - held.firstIndex);
  return {
    records: [...held.records.slice(gone), ...fresh],
    sizes: [...held.sizes.slice(gone), ...sizes],
    firstIndex: held.firstIndex + gone,
  };
}

function sum(sizes: readonly number[]): number {
  let bytes = 0;
  for (const size of sizes) bytes += size;
  return bytes;
}

/** A shorter window is decoded faster than many of them are worth keeping. */
const RECORDS_MIN = 16;
/** The memory that objects take beside their text, with what a view makes of them. */
const RECORD_BYTES = 700;
const WINDOW_BYTES = 1_000;

/**
 * The windows that a process has decoded, by session. Nothing here is believed: a load says whether what is held still
 * stands in the log. So an entry may be missing, old, or of a log that Redis has lost.
 *
 * Contract: holds no more than its space has room for, which others may share.
 */
export class WindowCache {
  readonly #space: CacheSpace;
  readonly #recordsMin: number;
  readonly #windows = new Map<SessionId, HeldWindow>();

  constructor({ space = new CacheSpace(), recordsMin = RECORDS_MIN } = {}) {
    this.#space = space;
    this.#recordsMin = recordsMin;
  }

  /** The held window of a session. */
  of(session: SessionId): HeldWindow | undefined {
    return this.#windows.get(session);
  }

  /** Holds what a load has read, in place of what was held before. */
  hold(session: SessionId, window: HeldWindow): void {
    const drop = () => this.#windows.delete(session);
    drop();
    this.#space.release(session);
    if (window.records.length < this.#recordsMin || window.records.length === 0) return;
    const bytes = WINDOW_BYTES + (window.head?.bytes ?? 0) + sum(window.sizes) + window.sizes.length * RECORD_BYTES;
    if (this.#space.hold(session, bytes, drop)) this.#windows.set(session, window);
  }
}
