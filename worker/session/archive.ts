import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { bindScript, readScript } from '../../shared/redis/script.ts';
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
}

/**
 * The archives of one shard's sessions: records that left a session's window move from its log to compressed segments.
 *
 * Contract: no call changes what a view or a seed shows, so none of them is fenced by a turn; each may be repeated, and
 * several archivists may make it at once. Each rejects when Redis cannot be reached.
 */
export interface Archive {
  /**
   * What may leave: the records before the window, except its head; all records once the session is closed. The newest
   * `SEED_READ_BYTES_MAX` bytes never do.
   */
  plan(session: SessionId): Promise<ArchivePlan>;
  /** Reads and packs the log's oldest records, as many as fit into one segment; `undefined` when none may leave. */
  nextSegment(session: SessionId, until: number): Promise<Segment | undefined>;
  /** Moves a segment, in one atomic step; `false` when the log no longer begins with it. */
  append(segment: Segment): Promise<boolean>;
  /** Ends a visit; a closed session's keys then last as long as the retention. `false` when there is more to do. */
  release(session: SessionId, plan: ArchivePlan): Promise<boolean>;
}

/** Called for each unreadable segment, with its place in the archive. */
export type OnUnreadable = (segment: number, error: unknown) => void;

const SCRIPTS = import.meta.dirname;
/** These two carry bytes, which a bound script cannot; their text is small beside the records that they carry. */
const ARCHIVE = readScript(join(SCRIPTS, 'archive.lua'));
const RANGE = readScript(join(SCRIPTS, 'range.lua'));

/** Binds the archives of a shard to a connection. An archive lasts `retentionSeconds` from its last segment on. */
export function createArchive(redis: RedisClient, keys: Keys, retentionSeconds: number): Archive {
  const tail = bindScript<[size: number, first: number]>(redis, join(SCRIPTS, 'tail.lua'));
  const release = bindScript<number>(redis, join(SCRIPTS, 'release.lua'));
  return {
    async plan(session) {
      const about = await redis.hmget(keys.session(session), 'windowStart', 'head', 'closedBy');
      const [windowStart = null, head = null, closedBy = null] = about;
      const [, newest] = await tail([keys.log(session), keys.session(session)], [SEED_READ_BYTES_MAX, '']);
      const leftWindow = Math.min(Number(windowStart ?? 0), Number(head ?? Number.POSITIVE_INFINITY));
      const until = closedBy === null ? Math.min(newest, leftWindow) : newest;
      return { until, windowStart: windowStart ?? '', closedBy: closedBy ?? '' };
    },
    async nextSegment(session, until) {
      const { archived, lines } = await readRange(redis, keys, session, 0);
      const leaving = lines.slice(0, Math.max(0, until - archived));
      if (leaving.length === 0) return undefined;
      return { session, from: archived, records: leaving.length, packed: await packSegment(leaving) };
    },
    async append({ session, from, records, packed }) {
      const at = [keys.session(session), keys.log(session), keys.archive(session)];
      return (await redis.eval(ARCHIVE, at.length, ...at, from, records, retentionSeconds, packed)) === 1;
    },
    async release(session, { windowStart, closedBy }) {
      const at = [keys.session(session), keys.log(session), keys.archive(session), keys.archivable];
      return (await release(at, [session, windowStart, closedBy, retentionSeconds])) === 1;
    },
  };
}

/** Records of a log as stored in Redis, with the position where the log begins. */
export interface LogRange {
  /** How many records left the log: the index of its first record. */
  archived: number;
  /** Segments in the archive at the same moment. */
  segments: number;
  lines: Buffer[];
}

/** Reads about a segment's worth of records from an index on, or from the log's first record if that comes later. */
export async function readRange(redis: RedisClient, keys: Keys, session: SessionId, from: number): Promise<LogRange> {
  const at = [keys.session(session), keys.log(session), keys.archive(session)];
  const args = [RANGE, at.length, ...at, from, SEGMENT_RECORDS_MAX, SEGMENT_BYTES_MAX];
  const [archived, segments, lines] = (await redis.callBuffer('EVAL', args)) as [number, number, Buffer[]];
  return { archived, segments, lines };
}

/**
 * Reads one segment by its place in the archive and returns its lines: none when it is damaged (which is reported),
 * `undefined` when the archive ends before it.
 */
export async function readSegment(
  redis: RedisClient,
  keys: Keys,
  session: SessionId,
  segment: number,
  onUnreadable: OnUnreadable,
): Promise<Buffer[] | undefined> {
  const packed = await redis.lindexBuffer(keys.archive(session), segment);
  if (packed === null) return undefined;
  try {
    return await unpackSegment(packed);
  } catch (error) {
    onUnreadable(segment, error);
    return [];
  }
}

/** The archived records of a session, oldest first, one segment in memory at a time. Reports and skips damaged ones. */
export async function* readArchive(
  redis: RedisClient,
  keys: Keys,
  session: SessionId,
  onUnreadable: OnUnreadable = () => {},
): AsyncGenerator<LogRecord> {
  for (let segment = 0; ; segment++) {
    const lines = await readSegment(redis, keys, session, segment, onUnreadable);
    if (lines === undefined) return;
    for (const line of lines) yield decodeRecord(line.toString());
  }
}
