import { join } from 'node:path';
import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { bindScript, readScript } from '../../shared/redis/script.ts';
import { decodePointer, encodePointer } from '../../shared/state/blob/pointer.ts';
import { type LogRange, type SessionLogs, sessionLogs } from '../../shared/state/session/log.ts';
import { type Blobs, DamagedBlobError } from '../blob/blobs.ts';
import { decodeRecord, type LogRecord } from './record.ts';
import { packSegment, SEGMENT_BYTES_MAX, SEGMENT_RECORDS_MAX, unpackSegment } from './segment.ts';
import { SEED_READ_BYTES_MAX } from './store.ts';

/** What may leave a session's log. It only ever grows, so an earlier plan stays valid. */
export interface ArchivePlan {
  /** Index of the first record that must stay, counted since the session's first. */
  until: number;
  windowStart: string;
  closedBy: string;
}

/** The oldest records of a log, ready to be moved. */
export interface Segment {
  session: SessionId;
  /** Index of its first record, counted since the session's first. */
  from: number;
  records: number;
  packed: Buffer;
  /** When it was read, in seconds by Redis' clock. */
  readAtS: number;
}

/** Where sessions and their archives are. */
export interface SessionSource {
  redis: RedisClient;
  keys: Keys;
  /** Absent: segments are kept in Redis. */
  blobs?: Blobs | undefined;
}

/**
 * The archives of one shard's sessions: records that left a session's window move from its log to compressed segments.
 *
 * Contract: no call changes what a view or a seed shows, so none of them is fenced by a turn; each may be repeated, and
 * several archivists may make it at once. Each rejects when Redis or the blob store cannot be used just now.
 */
export interface Archive {
  /**
   * What may leave: the records before the window, except its head; all records once the session is closed. The newest
   * `SEED_READ_BYTES_MAX` bytes never do.
   */
  plan(session: SessionId): Promise<ArchivePlan>;
  /** Reads and packs the log's oldest records, as many as fit into one segment; `undefined` when none may leave. */
  nextSegment(session: SessionId, until: number): Promise<Segment | undefined>;
  /**
   * Moves a segment: its bytes are stored first, and in one atomic step the archive points at them and the log ends
   * before them. `false` when the log no longer begins with it, or it was read so long ago that its bytes may have been
   * removed as an orphan's; then it must be read again.
   */
  append(segment: Segment): Promise<boolean>;
  /** Ends a visit; a closed session's keys then last as long as the retention. `false` when there is more to do. */
  release(session: SessionId, plan: ArchivePlan): Promise<boolean>;
}

/** A blob is no orphan before it is twice as old as this. */
export const APPEND_SECONDS_MAX = 1_800;

/** Called for each unreadable segment, with its place in the archive. */
export type OnUnreadable = (segment: number, error: unknown) => void;

const SCRIPTS = import.meta.dirname;
/** It carries bytes, which a bound script cannot; its text is small beside them. */
const ARCHIVE = readScript(join(SCRIPTS, 'archive.lua'));

/** Binds the archives of a shard. An archive lasts `retentionSeconds` from its last segment on. */
export function createArchive(source: SessionSource, retentionSeconds: number, reach?: ReachFailpoint): Archive {
  const { redis, keys, blobs } = source;
  const logs = sessionLogs(redis, keys);
  const release = bindScript<number>(redis, join(SCRIPTS, 'release.lua'));
  return {
    async plan(session) {
      const about = await redis.hmget(keys.session(session), 'windowStart', 'head', 'closedBy');
      const [windowStart = null, head = null, closedBy = null] = about;
      const { first: newest } = await logs.tail(session, SEED_READ_BYTES_MAX);
      const leftWindow = Math.min(Number(windowStart ?? 0), Number(head ?? Number.POSITIVE_INFINITY));
      const until = closedBy === null ? Math.min(newest, leftWindow) : newest;
      return { until, windowStart: windowStart ?? '', closedBy: closedBy ?? '' };
    },
    async nextSegment(session, until) {
      const { archived, lines, readAtS } = await readRange(logs, session, 0);
      const leaving = lines.slice(0, Math.max(0, until - archived));
      if (leaving.length === 0) return undefined;
      return { session, from: archived, records: leaving.length, packed: await packSegment(leaving), readAtS };
    },
    async append({ session, from, records, packed, readAtS }) {
      const item = blobs ? await pointerTo(blobs, session, records, packed) : packed;
      reach?.('segment stored');
      const at = [keys.session(session), keys.log(session), keys.archive(session)];
      const args = [from, records, retentionSeconds, item, readAtS + APPEND_SECONDS_MAX];
      return (await redis.eval(ARCHIVE, at.length, ...at, ...args)) === 1;
    },
    async release(session, { windowStart, closedBy }) {
      const at = [keys.session(session), keys.log(session), keys.archive(session), keys.archivable];
      return (await release(at, [session, windowStart, closedBy, retentionSeconds])) === 1;
    },
  };
}

async function pointerTo(blobs: Blobs, session: SessionId, records: number, packed: Buffer): Promise<string> {
  const blob = await blobs.put(session, packed);
  return encodePointer({ blob, records, bytes: packed.length });
}

/** Reads about a segment's worth of lines from an index on, or from the log's first record if that comes later. */
export function readRange(logs: SessionLogs, session: SessionId, from: number): Promise<LogRange> {
  return logs.range(session, from, { recordsMax: SEGMENT_RECORDS_MAX, bytesMax: SEGMENT_BYTES_MAX });
}

/**
 * Reads one segment by its place in the archive and returns its lines: none when it is damaged or its blob is missing
 * (which is reported), `undefined` when the archive ends before it.
 */
export async function readSegment(
  { redis, keys, blobs }: SessionSource,
  session: SessionId,
  segment: number,
  onUnreadable: OnUnreadable,
): Promise<Buffer[] | undefined> {
  const item = await redis.lindexBuffer(keys.archive(session), segment);
  if (item === null) return undefined;
  const packed = await packedOf(blobs, session, item);
  try {
    if (packed instanceof DamagedBlobError) throw packed;
    return await unpackSegment(packed);
  } catch (error) {
    onUnreadable(segment, error);
    return [];
  }
}

/** The bytes of a segment, which an earlier version kept in the list itself. */
async function packedOf(
  blobs: Blobs | undefined,
  session: SessionId,
  item: Buffer,
): Promise<Buffer | DamagedBlobError> {
  const pointer = decodePointer(item);
  if (pointer === undefined) return item;
  try {
    return (await blobs?.get(session, pointer.blob)) ?? new DamagedBlobError('the segment is not in the blob store');
  } catch (error) {
    if (error instanceof DamagedBlobError) return error;
    throw error;
  }
}

/** The archived records of a session, oldest first, one segment in memory at a time. Reports and skips damaged ones. */
export async function* readArchive(
  source: SessionSource,
  session: SessionId,
  onUnreadable: OnUnreadable = () => {},
): AsyncGenerator<LogRecord> {
  for (let segment = 0; ; segment++) {
    const lines = await readSegment(source, session, segment, onUnreadable);
    if (lines === undefined) return;
    for (const line of lines) yield decodeRecord(line.toString());
  }
}
