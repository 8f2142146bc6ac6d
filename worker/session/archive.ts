import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import type { Root } from '../../shared/app/process.ts';
import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { forgetRecordsOlderThan } from '../../shared/state/lane/record-streams.ts';
import {
  type ArchivePlan,
  decodePointer,
  encodePointer,
  type SegmentRange,
  sessionArchives,
} from '../../shared/state/session/archive.ts';
import { RANGE_BYTES_MAX, sessionLogs } from '../../shared/state/session/log.ts';
import { type Blobs, DamagedBlobError } from '../blob/blobs.ts';
import type { Limits } from '../limits.ts';
import { SEED_READ_BYTES_MAX } from './store.ts';

/** The oldest records of a log, ready to be moved. */
export interface Segment extends SegmentRange {
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

/** A blob is no orphan before it is twice as old as this. */
export const APPEND_SECONDS_MAX = 1_800;

/** Called for each unreadable segment, with its place in the archive. */
export type OnUnreadable = (segment: number, error: unknown) => void;

export type Archive = ReturnType<typeof createArchive>;

/**
 * The archives of one shard's sessions: records that left a session's window move from its log to compressed segments.
 * An archive lasts `retentionSeconds` from its last segment on.
 *
 * Contract: no call changes what a view or a seed shows, so none of them is fenced by a turn; each may be repeated, and
 * several archivists may make it at once. Each rejects when Redis or the blob store cannot be used just now.
 */
export function createArchive(source: SessionSource, retentionSeconds: number, reach?: ReachFailpoint) {
  const { redis, keys, blobs } = source;
  const logs = sessionLogs(redis, keys);
  const archives = sessionArchives(redis, keys);
  return {
    /** The records that may leave; the newest `SEED_READ_BYTES_MAX` bytes never do. */
    plan: (session: SessionId) => archives.plan(session, SEED_READ_BYTES_MAX),
    /** Reads and packs the log's oldest records, as many as fit into one segment; `undefined` when none may leave. */
    async nextSegment(session: SessionId, until: number): Promise<Segment | undefined> {
      const { archived, lines, readAtS } = await logs.range(session, 0);
      const leaving = lines.slice(0, Math.max(0, until - archived));
      if (leaving.length === 0) return undefined;
      return { session, from: archived, records: leaving.length, packed: await packSegment(leaving), readAtS };
    },
    /**
     * Moves a segment: its bytes are stored first, and in one atomic step the archive points at them and the log ends
     * before them. `false` when the log no longer begins with it, or it was read so long ago that its bytes may have
     * been removed as an orphan's; then it must be read again.
     */
    async append(segment: Segment): Promise<boolean> {
      const item = blobs ? await pointerTo(blobs, segment) : segment.packed;
      reach?.('segment stored');
      return archives.move(segment, item, segment.readAtS + APPEND_SECONDS_MAX, retentionSeconds);
    },
    /** Ends a visit; a closed session's keys then last as long as the retention. `false` when there is more to do. */
    release: (session: SessionId, plan: ArchivePlan) => archives.release(session, plan, retentionSeconds),
  };
}

async function pointerTo(blobs: Blobs, { session, records, packed }: Segment): Promise<string> {
  const blob = await blobs.put(session, packed);
  return encodePointer({ blob, records, bytes: packed.length });
}

const DAY_SECONDS = 24 * 3600;

/**
 * Moves records that left a session's window to its archive, and ends what is kept for a time, at the start and then
 * regularly. A session stays in the set of sessions to visit until nothing more of it can move, so a crash at any point
 * only repeats a visit. Several may run side by side.
 */
export function startArchivist(
  env: SessionSource & Pick<Root, 'settings' | 'log' | 'reach'> & { limits: Limits },
): Service {
  const { settings, redis, keys, log, reach } = env;
  const { archivable } = sessionArchives(redis, keys);
  const archive = createArchive(env, settings.SESSION_RETENTION_DAYS * DAY_SECONDS, reach);
  const everyMs = env.limits.archiveEveryMs;
  return runLoop({
    name: 'archivist',
    async round(signal) {
      for (const session of await archivable()) await visit(archive, session, log, signal);
      await forgetRecordsOlderThan(redis, keys, settings.LEDGER_RETENTION_DAYS);
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) => log.warn({ err: error }, 'archiving failed; it is tried again'),
  });
}

/** A session that cannot be archived must not keep the others waiting. */
async function visit(archive: Archive, session: SessionId, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const records = await archiveSession(archive, session, signal);
    if (records > 0) log.debug({ session, records }, 'archived');
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, session }, 'a session could not be archived; it is tried again');
  }
}

/**
 * Archives what may leave one session's log, segment by segment, and ends the visit. Returns how many records it moved.
 * When aborted, it stops after the current segment, and does not end the visit.
 */
export async function archiveSession(archive: Archive, session: SessionId, signal: AbortSignal): Promise<number> {
  let records = 0;
  while (!signal.aborted) {
    const plan = await archive.plan(session);
    for (;;) {
      const segment = signal.aborted ? undefined : await archive.nextSegment(session, plan.until);
      if (!segment) break;
      if (await archive.append(segment)) records += segment.records;
    }
    if (signal.aborted || (await archive.release(session, plan))) break;
  }
  return records;
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
  const item = await sessionArchives(redis, keys).segment(session, segment);
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

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** The checksum detects a flipped bit when the segment is read, instead of returning wrong data. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
/** Most segments come out as one piece: pieces cost more than the bytes in them. */
const UNPACKED = { chunkSize: RANGE_BYTES_MAX };
const LINE_BREAK = 0x0a;
const SPACE = 0x20;
const BREAK = Buffer.of(LINE_BREAK);

/** Packs lines of a log as compressed JSONL, byte for byte. Runs off the event loop. */
export async function packSegment(lines: readonly Buffer[]): Promise<Buffer> {
  const jsonl = lines.flatMap((line, index) => (index === 0 ? [onOneLine(line)] : [BREAK, onOneLine(line)]));
  return compress(Buffer.concat(jsonl), CHECKED);
}

/** The lines of a segment, as they were packed. Rejects when its checksum does not match. */
export async function unpackSegment(packed: Buffer): Promise<Buffer[]> {
  const jsonl = await decompress(packed, UNPACKED);
  const lines: Buffer[] = [];
  for (let start = 0; start <= jsonl.length; ) {
    const found = jsonl.indexOf(LINE_BREAK, start);
    const end = found === -1 ? jsonl.length : found;
    lines.push(jsonl.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

/** JSON has no raw line break inside a string: replacing one by a space changes no record. */
function onOneLine(line: Buffer): Buffer {
  return line.includes(LINE_BREAK) ? Buffer.from(line.map((byte) => (byte === LINE_BREAK ? SPACE : byte))) : line;
}
