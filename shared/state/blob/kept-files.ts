import { keysBehind, type RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';
import { inSlices } from '../../redis/stream.ts';

/** A kept file: the name of its blob, or its bytes, where they were kept in Redis itself. */
export type Kept = { blob: string } | { bytes: Buffer };

const SHA256_CHARS = 64;
const POINTERS_AT_ONCE = 1_000;

/**
 * The files that each chat of a shard keeps, by the SHA-256 of their bytes. Each method rejects when Redis cannot be
 * reached, and may be repeated.
 */
export function keptFiles(redis: RedisClient, keys: Keys) {
  return {
    /** Finds what a chat keeps; with `seconds` it is kept for so long from now on. */
    async find(chat: ChatKey, sha256: string, seconds?: number): Promise<Kept | undefined> {
      const [key, inRedis] = [keys.blob(sha256, chat), keys.media(sha256, chat)];
      const [blob, bytes] = await Promise.all(
        seconds === undefined
          ? [redis.get(key), redis.getBuffer(inRedis)]
          : [redis.getex(key, 'EX', seconds), redis.getexBuffer(inRedis, 'EX', seconds)],
      );
      if (bytes !== null) return { bytes };
      return blob === null ? undefined : { blob };
    },
    /** Keeps a pointer for at least so many seconds from now on, and returns its blob; `undefined` where there is none. */
    async renew(chat: ChatKey, sha256: string, seconds: number): Promise<string | undefined> {
      const key = keys.blob(sha256, chat);
      // A conversation may refer to the same bytes: their time is never cut short.
      const [, got] = (await redis.multi().expire(key, seconds, 'GT').get(key).exec()) ?? [];
      return (got?.[1] as string | null | undefined) ?? undefined;
    },
    /** Points at a blob for at least so many seconds. Where there is a pointer, it stays, unless it is to be `replaced`. */
    async point(chat: ChatKey, sha256: string, blob: string, seconds: number, replaced: boolean): Promise<void> {
      const key = keys.blob(sha256, chat);
      const writes = redis.multi();
      if (replaced) writes.set(key, blob, 'KEEPTTL', 'XX');
      await writes.set(key, blob, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    /** Keeps bytes in Redis for at least so many seconds. */
    async keepBytes(chat: ChatKey, sha256: string, bytes: Buffer, seconds: number): Promise<void> {
      const key = keys.media(sha256, chat);
      await redis.multi().set(key, bytes, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    /** Forgets all that a chat keeps. */
    async erase(chat: ChatKey): Promise<void> {
      for (const prefix of [keys.blob('', chat), keys.media('', chat)])
        for await (const name of keysBehind(redis, prefix)) await redis.unlink(`${prefix}${name}`);
    },
    /** Of the blobs of a chat those that are pointed at. The name of each begins with the SHA-256 of its bytes. */
    async pointedAt(chat: ChatKey, blobs: readonly string[]): Promise<ReadonlySet<string>> {
      const live = new Set<string>();
      for (const some of inSlices(blobs, POINTERS_AT_ONCE)) {
        const pointers = await redis.mget(some.map((name) => keys.blob(name.slice(0, SHA256_CHARS), chat)));
        for (const name of some.filter((name, at) => pointers[at] === name)) live.add(name);
      }
      return live;
    },
  };
}
