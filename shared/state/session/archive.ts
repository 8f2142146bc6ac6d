import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { bindScript, readScript } from '../../redis/script.ts';
import { sessionLogs } from './log.ts';

/** What may leave a session's log. It only ever grows, so an earlier plan stays valid. */
export interface ArchivePlan {
  /** Index of the first record that must stay, counted since the session's first. */
  until: number;
  windowStart: string;
  closedBy: string;
}

/** The oldest records of a log, to be moved. */
export interface MovedSegment {
  session: SessionId;
  /** Index of its first record, counted since the session's first. */
  from: number;
  records: number;
}

/** It carries bytes, which a bound script cannot. */
const ARCHIVE = readScript(join(import.meta.dirname, 'archive.lua'));

/** The archives of a shard's sessions. Methods reject when Redis cannot be reached. */
export function sessionArchives(redis: RedisClient, keys: Keys) {
  const logs = sessionLogs(redis, keys);
  const release = bindScript<number>(redis, join(import.meta.dirname, 'release.lua'));
  const keysAt = (session: SessionId) => [keys.session(session), keys.log(session), keys.archive(session)];
  return {
    /** The sessions to visit. */
    toVisit: async (): Promise<SessionId[]> => (await redis.smembers(keys.archivable)) as SessionId[],
    /** The records before the window, except its head; all once the session is closed; never the newest `keptBytes`. */
    async plan(session: SessionId, keptBytes: number): Promise<ArchivePlan> {
      const about = await redis.hmget(keys.session(session), 'windowStart', 'head', 'closedBy');
      const [windowStart = null, head = null, closedBy = null] = about;
      const { first: newest } = await logs.tail(session, keptBytes);
      const leftWindow = Math.min(Number(windowStart ?? 0), Number(head ?? Number.POSITIVE_INFINITY));
      const until = closedBy === null ? Math.min(newest, leftWindow) : newest;
      return { until, windowStart: windowStart ?? '', closedBy: closedBy ?? '' };
    },
    /** Moves a segment in one step: its bytes, or the pointer to them, by a second of Redis' clock at the latest. */
    async move({ session, from, records }: MovedSegment, item: Buffer | string, untilS: number, keepSeconds: number) {
      const at = keysAt(session);
      // 0: the log no longer begins with it, or it is too late.
      return (await redis.eval(ARCHIVE, at.length, ...at, from, records, keepSeconds, item, untilS)) === 1;
    },
    /** Ends a visit; a closed session's keys then last so long. `false` when the session changed since its plan. */
    async release(session: SessionId, { windowStart, closedBy }: ArchivePlan, keepSeconds: number): Promise<boolean> {
      const at = [...keysAt(session), keys.archivable];
      return (await release(at, [session, windowStart, closedBy, keepSeconds])) === 1;
    },
    /** How many segments an archive has. */
    segments: (session: SessionId): Promise<number> => redis.llen(keys.archive(session)),
    /** A segment's bytes or the pointer to them, by its place; `null` behind the last one. */
    segment: (session: SessionId, at: number): Promise<Buffer | null> => redis.lindexBuffer(keys.archive(session), at),
  };
}

/** The item that stands for a segment in an archive's list when its bytes are a blob. */
interface SegmentPointer {
  /** The name of the blob. */
  blob: string;
  records: number;
  bytes: number;
}

const BRACE = 0x7b;
const POINTER = /^\{"blob":"([0-9a-f-]{1,100})","records":(\d+),"bytes":(\d+)\}$/;

/**
 * A pointer as an archive's list holds it. Its first character tells it from a segment's bytes.
 */
export function encodePointer({ blob, records, bytes }: SegmentPointer): string {
  return JSON.stringify({ blob, records, bytes });
}

/** Reads an item of an archive's list: `undefined` when it is a segment's bytes, or no pointer that we wrote. */
export function decodePointer(item: Buffer): SegmentPointer | undefined {
  if (item[0] !== BRACE) return undefined;
  const [, blob, records, bytes] = POINTER.exec(item.toString()) ?? [];
  return blob === undefined ? undefined : { blob, records: Number(records), bytes: Number(bytes) };
}

/** The names of the blobs that the archive of a session points at. Rejects when Redis cannot be reached. */
export async function archiveBlobs(redis: RedisClient, keys: Keys, session: SessionId): Promise<ReadonlySet<string>> {
  const items = await redis.lrangeBuffer(keys.archive(session), 0, -1);
  return new Set(items.flatMap((item) => decodePointer(item)?.blob ?? []));
}
