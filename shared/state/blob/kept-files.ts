import { keysBehind, type RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';
import { inSlices } from '../../redis/stream.ts';

/** A stored file: the name of its blob, or its bytes if Redis itself has them. */
export type ChatFile = { blob: string } | { bytes: Buffer };

const SHA256_CHARS = 64;
const POINTERS_AT_ONCE = 1_000;

/**
 * The files of the chats of a shard, each under the SHA-256 of its bytes. Redis has the bytes, or a pointer: the name of the
 * blob with the bytes. Each method is idempotent and rejects when Redis cannot be reached.
 */
export function chatFiles(redis: RedisClient, keys: Keys) {
  return {
    /** Finds the file of a chat with this hash, if any. `seconds`, if given, becomes the file's remaining lifetime. */
    async find(chat: ChatKey, sha256: string, seconds?: number): Promise<ChatFile | undefined> {
      const [key, inRedis] = [keys.blob(sha256, chat), keys.media(sha256, chat)];
      const [blob, bytes] = await Promise.all(
        seconds === undefined
          ? [redis.get(key), redis.getBuffer(inRedis)]
          : [redis.getex(key, 'EX', seconds), redis.getexBuffer(inRedis, 'EX', seconds)],
      );
      if (bytes !== null) return { bytes };
      return blob === null ? undefined : { blob };
    },
    /** Extends the lifetime of a pointer to at least `seconds`. Returns the pointer's blob; `undefined` if there is none. */
    async renew(chat: ChatKey, sha256: string, seconds: number): Promise<string | undefined> {
      const key = keys.blob(sha256, chat);
      // With GT, a longer lifetime stays: a conversation may refer to the same bytes.
      const [, reply] = (await redis.multi().expire(key, seconds, 'GT').get(key).exec()) ?? [];
      return (reply?.[1] as string | null | undefined) ?? undefined;
    },
    /** Stores a pointer to a blob for at least `seconds`. An existing pointer keeps its own blob unless `mayReplace`. */
    async point(chat: ChatKey, sha256: string, blob: string, seconds: number, mayReplace: boolean): Promise<void> {
      const key = keys.blob(sha256, chat);
      const writes = redis.multi();
      if (mayReplace) writes.set(key, blob, 'KEEPTTL', 'XX');
      await writes.set(key, blob, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    /** Stores bytes in Redis for at least `seconds`. */
    async keepBytes(chat: ChatKey, sha256: string, bytes: Buffer, seconds: number): Promise<void> {
      const key = keys.media(sha256, chat);
      await redis.multi().set(key, bytes, 'EX', seconds, 'NX').expire(key, seconds, 'GT').exec();
    },
    /** Removes a chat's pointers and its bytes in Redis. Blobs stay in the blob store. */
    async erase(chat: ChatKey): Promise<void> {
      for (const prefix of [keys.blob('', chat), keys.media('', chat)])
        for await (const name of keysBehind(redis, prefix)) await redis.unlink(`${prefix}${name}`);
    },
    /** The names in `blobs` that pointers of the chat refer to. A blob's name begins with the SHA-256 of its bytes. */
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
