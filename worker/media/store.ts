import { hash } from 'node:crypto';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';

/**
 * The bytes that records only refer to: pictures, PDF files, long texts. Each is stored under its hash, so the same
 * file is kept once, however often it is sent.
 *
 * Contract: each method rejects when Redis cannot be reached. All are idempotent. Keeping needs no fencing token: one
 * id always means the same bytes, so a turn that was taken over can write nothing wrong.
 */
export interface MediaStore {
  /** Keeps bytes for the retention time from now on, or for at least so many seconds, and returns their id. */
  keep(bytes: Buffer, seconds?: number): Promise<string>;
  /** Loads what is still kept, and restarts its retention time. Expired and invalid ids are absent from the result. */
  load(sha256s: readonly string[]): Promise<ReadonlyMap<string, Buffer>>;
  /** Reads what is still kept, and leaves its time as it is. */
  read(sha256: string): Promise<Buffer | undefined>;
}

const SHA256 = /^[0-9a-f]{64}$/;
const DAY_S = 24 * 60 * 60;

/** Opens the media store of a shard. */
export function createMediaStore(redis: RedisClient, keys: Keys, retentionDays: number): MediaStore {
  const ttlS = retentionDays * DAY_S;
  return {
    async keep(bytes, seconds = ttlS) {
      const id = mediaId(bytes);
      // A conversation may refer to the same bytes: their time is never cut short.
      await redis.multi().set(keys.media(id), bytes, 'EX', seconds, 'NX').expire(keys.media(id), seconds, 'GT').exec();
      return id;
    },
    async load(sha256s) {
      const ids = [...new Set(sha256s)].filter((id) => SHA256.test(id));
      const found = await Promise.all(ids.map((id) => redis.getexBuffer(keys.media(id), 'EX', ttlS)));
      return new Map(ids.flatMap((id, at) => (found[at] ? [[id, found[at]]] : [])));
    },
    async read(sha256) {
      return (await redis.getBuffer(keys.media(sha256))) ?? undefined;
    },
  };
}

/** The id under which bytes are kept: their SHA-256, in hex. */
export function mediaId(bytes: Buffer): string {
  return hash('sha256', bytes);
}
