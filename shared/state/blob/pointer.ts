import { keysBehind, type RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../redis/keys.ts';

/** What stands for a segment in an archive's list when its bytes are a blob. */
export interface SegmentPointer {
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

/** What is kept of a file: the name of its blob, or its bytes, where they were kept in Redis itself. */
export type Kept = { blob: string } | { bytes: Buffer };

/**
 * What each chat of a shard keeps, by the SHA-256 of the bytes.
 *
 * Contract: each method rejects when Redis cannot be reached, and may be repeated.
 */
export interface KeptFiles {
  /** Finds what a chat keeps; with `seconds` it is kept for so long from now on. */
  find(chat: ChatKey, sha256: string, seconds?: number): Promise<Kept | undefined>;
  /** Keeps a pointer for at least so many seconds from now on, and returns its blob; `undefined` where there is none. */
  renew(chat: ChatKey, sha256: string, seconds: number): Promise<string | undefined>;
  /** Points at a blob for at least so many seconds. Where there is a pointer, it stays, unless it is to be `replaced`. */
  point(chat: ChatKey, sha256: string, blob: string, seconds: number, replaced: boolean): Promise<void>;
  /** Keeps bytes in Redis for at least so many seconds. */
  keepBytes(chat: ChatKey, sha256: string, bytes: Buffer, seconds: number): Promise<void>;
  /** Forgets all that a chat keeps. */
  erase(chat: ChatKey): Promise<void>;
  /** Of the blobs of a chat, each with the SHA-256 of its bytes, those that are pointed at. */
  pointedAt(chat: ChatKey, blobs: readonly [name: string, sha256: string][]): Promise<ReadonlySet<string>>;
}

/** The files that the chats of a shard keep, over a connection. */
export function createKeptFiles(redis: RedisClient, keys: Keys): KeptFiles {
  return {
    async find(chat, sha256, seconds) {
      const [key, inRedis] = [keys.blob(sha256, chat), keys.media(sha256, chat)];
      const [blob, bytes] = await Promise.all(
        seconds === undefined
          ? [redis.get(key), redis.getBuffer(inRedis)]
          : [redis.getex(key, 'EX', seconds), redis.getexBuffer(inRedis, 'EX', seconds)],
      );
      if (bytes !== null) return { bytes };
      return blob === null ? undefined : { blob };
    },
    async renew(chat, sha256, seconds) {
      const key = keys.blob(sha256, chat);
      // A conversation may refer to the same bytes: their time is never cut short.
      const [, got] = (await redis.multi().expire(key, seconds, 'GT').get(key).exec()) ?? [];
      return (got?.[1] as string | null | undefined) ?? undefined;
    },
    async point(chat, sha256, blob, seconds, replaced) {
      const key = keys.blob(sha256, chat);
      const writes = redis.multi();
      if (replaced) writes.set(key, blob, 'KEEPTTL', 'XX');
      await writes.set(key, blob, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    async keepBytes(chat, sha256, bytes, seconds) {
      const key = keys.media(sha256, chat);
      await redis.multi().set(key, bytes, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    async erase(chat) {
      for (const prefix of [keys.blob('', chat), keys.media('', chat)])
        for await (const name of keysBehind(redis, prefix)) await redis.unlink(`${prefix}${name}`);
    },
    async pointedAt(chat, blobs) {
      const pointers = await redis.mget(blobs.map(([, sha256]) => keys.blob(sha256, chat)));
      return new Set(blobs.flatMap(([name], at) => (pointers[at] === name ? [name] : [])));
    },
  };
}

/** The names of the blobs that the archive of a session points at. Rejects when Redis cannot be reached. */
export async function archiveBlobs(redis: RedisClient, keys: Keys, session: SessionId): Promise<ReadonlySet<string>> {
  const items = await redis.lrangeBuffer(keys.archive(session), 0, -1);
  return new Set(items.flatMap((item) => decodePointer(item)?.blob ?? []));
}
