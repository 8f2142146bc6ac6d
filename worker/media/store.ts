import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { type Blobs, blobId, DamagedBlobError } from '../blob/blobs.ts';

/**
 * The bytes that records only refer to: pictures, PDF files, long texts. Each is stored under its hash, so the same
 * file is kept once, however often it is sent.
 *
 * Contract: each method rejects when Redis or the blob store cannot be used just now. All are idempotent. Keeping needs
 * no fencing token: one id always means the same bytes, so a turn that was taken over can write nothing wrong.
 */
export interface MediaStore {
  /** Keeps bytes for the retention time from now on, or for at least so many seconds, and returns their id. */
  keep(bytes: Buffer, seconds?: number): Promise<string>;
  /**
   * Loads what is still kept, and restarts its retention time. Expired and invalid ids are absent from the result, and
   * so are files whose bytes are damaged or gone, which is logged.
   */
  load(sha256s: readonly string[]): Promise<ReadonlyMap<string, Buffer>>;
  /** Reads what is still kept, and leaves its time as it is. */
  read(sha256: string): Promise<Buffer | undefined>;
}

export interface MediaStorePorts {
  redis: RedisClient;
  keys: Keys;
  /** Absent: the bytes are kept in Redis. */
  blobs?: Blobs | undefined;
  retentionDays: number;
  log?: Logger;
  reach?: ReachFailpoint;
}

const SHA256 = /^[0-9a-f]{64}$/;
const DAY_S = 24 * 60 * 60;

/** Opens the media store of a shard. Files that an earlier version kept in Redis are read from there. */
export function createMediaStore(ports: MediaStorePorts): MediaStore {
  const { redis, keys, blobs, retentionDays, reach } = ports;
  const ttlS = retentionDays * DAY_S;
  return {
    async keep(bytes, seconds = ttlS) {
      const id = mediaId(bytes);
      if (blobs !== undefined) {
        // The bytes first: a crash in between leaves an orphan, and never a pointer to nothing.
        await blobs.put('media', bytes);
        reach?.('file stored');
      }
      const [key, value] = blobs === undefined ? [keys.media(id), bytes] : [keys.blob(id), bytes.length];
      // A conversation may refer to the same bytes: their time is never cut short.
      await redis.multi().set(key, value, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
      return id;
    },
    async load(sha256s) {
      const ids = [...new Set(sha256s)].filter((id) => SHA256.test(id));
      const found = await Promise.all(ids.map((id) => loadOne(ports, id, ttlS)));
      return new Map(ids.flatMap((id, at) => (found[at] ? [[id, found[at]]] : [])));
    },
    async read(sha256) {
      const found = await Promise.all([redis.get(keys.blob(sha256)), redis.getBuffer(keys.media(sha256))]);
      return bytesOf(ports, sha256, ...found);
    },
  };
}

/** The id under which bytes are kept: their SHA-256, in hex. */
export function mediaId(bytes: Buffer): string {
  return blobId(bytes);
}

async function loadOne(ports: MediaStorePorts, id: string, ttlS: number): Promise<Buffer | undefined> {
  const { redis, keys } = ports;
  const found = await Promise.all([
    redis.getex(keys.blob(id), 'EX', ttlS),
    redis.getexBuffer(keys.media(id), 'EX', ttlS),
  ]);
  return bytesOf(ports, id, ...found);
}

/** The bytes of a file: those in Redis, or those that the pointer stands for. */
async function bytesOf({ blobs, log }: MediaStorePorts, id: string, pointer: string | null, inRedis: Buffer | null) {
  if (inRedis !== null || pointer === null) return inRedis ?? undefined;
  try {
    const bytes = await blobs?.get('media', id);
    if (bytes === undefined) log?.warn({ sha256: id }, 'a kept file is not in the blob store');
    return bytes;
  } catch (error) {
    if (!(error instanceof DamagedBlobError)) throw error;
    log?.warn({ err: error, sha256: id }, 'a kept file is damaged');
    return undefined;
  }
}
