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

/** The oldest records of a log, compressed for the archive. */
export interface Segment extends SegmentRange {
  bytes: Buffer;
  /** The time at which the records were read, in seconds by the clock of Redis. */
  readAtS: number;
}

/** The places where sessions and their archives are stored. */
export interface SessionSource {
  redis: RedisClient;
  keys: Keys;
  /** The store of segments; absent if Redis stores them. */
  blobs?: Blobs | undefined;
}

/** The longest time between reading a segment and moving it. A blob without a pointer may be removed at twice this age. */
export const APPEND_SECONDS_MAX = 1_800;

/** Called for each unreadable segment, with its index in the archive. */
export type OnUnreadable = (segment: number, error: unknown) => void;

export type Archive = ReturnType<typeof createArchive>;

/**
 * The archives of one shard's sessions. Records that have left a session's window move from the session's log to compressed
 * segments. An archive expires `retentionSeconds` after its newest segment, or after the later release of its closed session.
 *
 * Contract: the calls need no fencing token, because none of them changes a view or a seed. Each call is idempotent, also with
 * several archivists at once, and rejects while Redis or the blob store is unavailable.
 */
export function createArchive(source: SessionSource, retentionSeconds: number, reach?: ReachFailpoint) {
  const { redis, keys, blobs } = source;
  const logs = sessionLogs(redis, keys);
  const archives = sessionArchives(redis, keys);
  return {
    /** Plans which records to move. The newest `SEED_READ_BYTES_MAX` bytes always stay in the log. */
    plan: (session: SessionId) => archives.plan(session, SEED_READ_BYTES_MAX),
    /** Reads and packs the oldest records before index `until` that fit into one segment; `undefined` if there are none. */
    async nextSegment(session: SessionId, until: number): Promise<Segment | undefined> {
      const { archived, lines, readAtS } = await logs.range(session, 0);
      const linesToMove = lines.slice(0, Math.max(0, until - archived));
      if (linesToMove.length === 0) return undefined;
      return { session, from: archived, records: linesToMove.length, bytes: await packSegment(linesToMove), readAtS };
    },
    /**
     * Moves a segment: stores its bytes, then in one atomic step adds the segment to the archive and removes its records from
     * the log. Returns false if the log no longer begins with these records, or if the read was so long ago that the stored
     * bytes may have been removed as an orphaned blob. In both cases, read the segment again.
     */
    async append(segment: Segment): Promise<boolean> {
      const item = blobs ? await pointerTo(blobs, segment) : segment.bytes;
      reach?.('segment stored');
      return archives.move(segment, item, segment.readAtS + APPEND_SECONDS_MAX, retentionSeconds);
    },
    /** Ends a visit to a session; a closed session then expires. Returns false if the session has changed since the plan. */
    release: (session: SessionId, plan: ArchivePlan) => archives.release(session, plan, retentionSeconds),
  };
}

async function pointerTo(blobs: Blobs, { session, records, bytes }: Segment): Promise<string> {
  const blob = await blobs.put(session, bytes);
  return encodePointer({ blob, records, bytes: bytes.length });
}

const DAY_SECONDS = 24 * 3600;

/**
 * Moves records that have left a session's window to its archive, and removes old records of the ledger and the audit trail, at
 * the start and then regularly. A session stays in the set of sessions to visit until no more of its records can move, so a
 * crash only repeats a visit. Several archivists may run at the same time.
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

/** Archives a session. Logs a failure, so that the other sessions are still archived. */
async function visit(archive: Archive, session: SessionId, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const records = await archiveSession(archive, session, signal);
    if (records > 0) log.debug({ session, records }, 'archived');
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, session }, 'a session could not be archived; it is tried again');
  }
}

/**
 * Archives the oldest records of one session, segment by segment, and ends the visit. Returns the number of moved records. On
 * abort, stops after the current segment and does not end the visit.
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
 * Reads the lines of one segment by its index in the archive. If the segment is damaged or its blob is missing, reports the
 * segment and returns no lines. Returns `undefined` beyond the end of the archive.
 */
export async function readSegment(
  { redis, keys, blobs }: SessionSource,
  session: SessionId,
  segment: number,
  onUnreadable: OnUnreadable,
): Promise<Buffer[] | undefined> {
  const item = await sessionArchives(redis, keys).segment(session, segment);
  if (item === null) return undefined;
  const bytes = await readBytes(blobs, session, item);
  try {
    if (bytes instanceof DamagedBlobError) throw bytes;
    return await unpackSegment(bytes);
  } catch (error) {
    onUnreadable(segment, error);
    return [];
  }
}

/** The bytes of a segment: the blob that `item` points to, or `item` itself. Returns an error for a lost or damaged blob. */
async function readBytes(
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
/** The checksum makes the decompression of a damaged segment fail instead of returning wrong data. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
/** A buffer of this size is large enough for most segments. Many small buffers would be slower. */
const UNPACKED = { chunkSize: RANGE_BYTES_MAX };
const LINE_BREAK = 0x0a;
const SPACE = 0x20;
const BREAK = Buffer.of(LINE_BREAK);

/** Packs lines of a log as compressed JSONL; changes only raw line breaks. Compresses outside the event loop. */
export async function packSegment(lines: readonly Buffer[]): Promise<Buffer> {
  const jsonl = lines.flatMap((line, index) => (index === 0 ? [onOneLine(line)] : [BREAK, onOneLine(line)]));
  return compress(Buffer.concat(jsonl), CHECKED);
}

/** Unpacks the lines of a segment. Rejects if the checksum does not match. */
export async function unpackSegment(bytes: Buffer): Promise<Buffer[]> {
  const jsonl = await decompress(bytes, UNPACKED);
  const lines: Buffer[] = [];
  for (let start = 0; start <= jsonl.length; ) {
    const found = jsonl.indexOf(LINE_BREAK, start);
    const end = found === -1 ? jsonl.length : found;
    lines.push(jsonl.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

/** Replaces raw line breaks with spaces. This changes no record, because a JSON string cannot contain a raw line break. */
function onOneLine(line: Buffer): Buffer {
  return line.includes(LINE_BREAK) ? Buffer.from(line.map((byte) => (byte === LINE_BREAK ? SPACE : byte))) : line;
}
