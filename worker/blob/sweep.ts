import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { notedStoreId } from '../../shared/state/blob/binding.ts';
import { decodePointer } from '../../shared/state/blob/pointer.ts';
import { chatOfBlobs } from './blob-name.ts';
import type { BlobOwner, Blobs } from './blobs.ts';

export interface SweepPorts {
  redis: RedisClient;
  keys: Keys;
  blobs: Blobs;
}

/**
 * Removes the blobs of a shard that were put before `beforeMs` and that nothing points at: those whose retention is
 * over, and orphans of writes that were killed. Returns how many. Stops when Redis no longer knows the store, because a
 * Redis that was emptied points at nothing.
 *
 * Contract: as `Blobs`; may be repeated, and run by several processes at once.
 */
export async function sweep({ redis, keys, blobs }: SweepPorts, beforeMs: number, signal: AbortSignal) {
  let deleted = 0;
  for await (const { owner, sha256s } of blobs.oldBlobs(beforeMs)) {
    if (signal.aborted) break;
    const live = await liveOf(redis, keys, owner, sha256s);
    if ((await notedStoreId(redis)) === undefined) break;
    for (const sha256 of sha256s)
      if (!live.has(sha256) && (await blobs.deleteOld(owner, sha256, beforeMs))) deleted += 1;
  }
  return deleted;
}

/** Of the blobs of an owner those that something points at. */
async function liveOf(
  redis: RedisClient,
  keys: Keys,
  owner: BlobOwner,
  sha256s: readonly string[],
): Promise<ReadonlySet<string | undefined>> {
  const chat = chatOfBlobs(owner);
  if (chat !== undefined) {
    const found = await Promise.all(sha256s.map((sha256) => redis.exists(keys.blob(sha256, chat))));
    return new Set(sha256s.filter((_, at) => found[at] === 1));
  }
  const items = await redis.lrangeBuffer(keys.archive(owner as SessionId), 0, -1);
  return new Set(items.map((item) => decodePointer(item)?.sha256));
}
