import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { bindScript, readScript } from '../../redis/script.ts';
import { sessionLogs } from './log.ts';

/** The records of a session that may be archived. Their number only grows, so an old plan stays valid. */
export interface ArchivePlan {
  /** The index of the first record that must stay in the log, counted from the session's first record. */
  until: number;
  windowStart: string;
  closedBy: string;
}

/** The oldest records of a log, which move to the archive together. */
export interface SegmentRange {
  session: SessionId;
  /** The index of the range's first record, counted from the session's first record. */
  from: number;
  /** The number of records. */
  records: number;
}

/** The text of the script that `move` runs with `eval`, because bound scripts take no binary arguments. */
const ARCHIVE = readScript(join(import.meta.dirname, 'archive.lua'));

/** The archives of a shard's sessions. Methods reject when Redis cannot be reached. */
export function sessionArchives(redis: RedisClient, keys: Keys) {
  const logs = sessionLogs(redis, keys);
  const release = bindScript<number>(redis, join(import.meta.dirname, 'release.lua'));
  const keysAt = (session: SessionId) => [keys.session(session), keys.log(session), keys.archive(session)];
  return {
    /** The sessions with records that may be archived. */
    archivable: async (): Promise<SessionId[]> => (await redis.smembers(keys.archivable)) as SessionId[],
    /**
     * Plans to archive the records before the window and its head. The window stays, also that of a closed session, which a
     * person may open again. The newest records, of `tailBytes` together, always stay.
     */
    async plan(session: SessionId, tailBytes: number): Promise<ArchivePlan> {
      const fields = await redis.hmget(keys.session(session), 'windowStart', 'head', 'closedBy');
      const [windowStart = null, head = null, closedBy = null] = fields;
      const { first: tailStart } = await logs.tail(session, tailBytes);
      const firstInUse = Math.min(Number(windowStart ?? 0), Number(head ?? Number.POSITIVE_INFINITY));
      return { until: Math.min(tailStart, firstInUse), windowStart: windowStart ?? '', closedBy: closedBy ?? '' };
    },
    /**
     * Moves a segment to the archive in one step. `item` is the segment's bytes, or the pointer to their blob, which is valid
     * until `untilS`. Returns false, and changes nothing, if the log no longer begins with the segment, or after `untilS`.
     */
    async move({ session, from, records }: SegmentRange, item: Buffer | string, untilS: number, keepSeconds: number) {
      const at = keysAt(session);
      return (await redis.eval(ARCHIVE, at.length, ...at, from, records, keepSeconds, item, untilS)) === 1;
    },
    /** Ends the work on a plan. A closed session then expires after `keepSeconds`. Returns false if the session has changed. */
    async release(session: SessionId, { windowStart, closedBy }: ArchivePlan, keepSeconds: number): Promise<boolean> {
      const at = [...keysAt(session), keys.archivable];
      return (await release(at, [session, windowStart, closedBy, keepSeconds])) === 1;
    },
    /** Counts the segments of an archive. */
    segments: (session: SessionId): Promise<number> => redis.llen(keys.archive(session)),
    /** A segment's bytes, or the pointer to them, by its index in the archive; `null` after the last one. */
    segment: (session: SessionId, at: number): Promise<Buffer | null> => redis.lindexBuffer(keys.archive(session), at),
  };
}

/** The item in an archive's list for a segment whose bytes are in the blob store. */
interface SegmentPointer {
  /** The name of the blob. */
  blob: string;
  records: number;
  bytes: number;
}

const BRACE = 0x7b;
const POINTER = /^\{"blob":"([0-9a-f-]{1,100})","records":(\d+),"bytes":(\d+)\}$/;

/** Writes a pointer as JSON. Its first character, a brace, distinguishes the pointer from a segment's bytes. */
export function encodePointer({ blob, records, bytes }: SegmentPointer): string {
  return JSON.stringify({ blob, records, bytes });
}

/** Reads an item of an archive's list as a pointer; `undefined` for a segment's bytes and for an unknown form. */
export function decodePointer(item: Buffer): SegmentPointer | undefined {
  if (item[0] !== BRACE) return undefined;
  const [, blob, records, bytes] = POINTER.exec(item.toString()) ?? [];
  return blob === undefined ? undefined : { blob, records: Number(records), bytes: Number(bytes) };
}

/** The names of the blobs to which a session's archive points. Rejects when Redis cannot be reached. */
export async function archiveBlobs(redis: RedisClient, keys: Keys, session: SessionId): Promise<ReadonlySet<string>> {
  const items = await redis.lrangeBuffer(keys.archive(session), 0, -1);
  return new Set(items.flatMap((item) => decodePointer(item)?.blob ?? []));
}
