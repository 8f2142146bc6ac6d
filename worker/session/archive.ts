import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { decodePointer, encodePointer } from '../../shared/state/blob/pointer.ts';
import { type ArchivePlan, sessionArchives } from '../../shared/state/session/archive.ts';
import { sessionLogs } from '../../shared/state/session/log.ts';
import { type Blobs, DamagedBlobError } from '../blob/blobs.ts';
import { decodeRecord, type LogRecord } from './record.ts';
import { SEED_READ_BYTES_MAX } from './store.ts';

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

/** Binds the archives of a shard. An archive lasts `retentionSeconds` from its last segment on. */
export function createArchive(source: SessionSource, retentionSeconds: number, reach?: ReachFailpoint): Archive {
  const { redis, keys, blobs } = source;
  const logs = sessionLogs(redis, keys);
  const archives = sessionArchives(redis, keys);
  return {
    plan: (session) => archives.plan(session, SEED_READ_BYTES_MAX),
    async nextSegment(session, until) {
      const { archived, lines, readAtS } = await logs.range(session, 0);
      const leaving = lines.slice(0, Math.max(0, until - archived));
      if (leaving.length === 0) return undefined;
      return { session, from: archived, records: leaving.length, packed: await packSegment(leaving), readAtS };
    },
    async append({ session, from, records, packed, readAtS }) {
      const item = blobs ? await pointerTo(blobs, session, records, packed) : packed;
      reach?.('segment stored');
      return archives.move(session, { from, records, item, untilS: readAtS + APPEND_SECONDS_MAX }, retentionSeconds);
    },
    release: (session, plan) => archives.release(session, plan, retentionSeconds),
  };
}

async function pointerTo(blobs: Blobs, session: SessionId, records: number, packed: Buffer): Promise<string> {
  const blob = await blobs.put(session, packed);
  return encodePointer({ blob, records, bytes: packed.length });
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

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** The checksum detects a flipped bit when the segment is read, instead of returning wrong data. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
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
  const jsonl = await decompress(packed);
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
