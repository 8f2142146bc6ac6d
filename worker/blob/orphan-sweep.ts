import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../shared/redis/keys.ts';
import { boundStoreId, createBinding } from '../../shared/state/blob/binding.ts';
import { chatFiles } from '../../shared/state/blob/kept-files.ts';
import { createPasses } from '../../shared/state/process/process.ts';
import { archiveBlobs } from '../../shared/state/session/archive.ts';
import type { Limits } from '../limits.ts';
import { BlobStoreError, type Blobs, chatOfBlobs } from './blobs.ts';

/** The blobs of a shard, and the Redis that points at them. */
interface ShardBlobs {
  redis: RedisClient;
  keys: Keys;
  blobs: Blobs;
}

/** What the blobs of a shard are kept with. */
interface Keeping extends ShardBlobs {
  log: Logger;
  /** The id of the store that holds the blobs. Contract: as `BlobStore`. */
  storeId: () => Promise<string>;
  limits: Pick<Limits, 'blobEveryMs' | 'orphanMs' | 'boundMs'>;
  /** Called for each round that found another store, or could not use it. Contract: never throws. */
  onTrouble: (trouble: BlobTrouble) => void;
}

/** The trouble that keeps a store from being used, for the operator: it is not the one of the data, or it fails. */
export type BlobTrouble = 'other store' | BlobStoreError;

/** Of several processes one makes the pass; the next one is due a little later. */
const PASS_SHARE = 0.9;

/**
 * Looks after the blobs of a shard, at the start and then regularly: compares the store with the one that the data
 * refers to, and removes what nothing points at. Idempotent; several may run side by side, and all processes together make
 * one pass each time.
 */
export function startBlobKeeper(keeping: Keeping): Service {
  const { redis, keys, log, limits, onTrouble } = keeping;
  const bind = createBinding(redis, keeping.storeId);
  return runLoop({
    name: 'blob keeper',
    async round(signal) {
      const { isOther, seconds } = await bind();
      if (isOther) onTrouble('other store');
      const passMs = Math.ceil(limits.blobEveryMs * PASS_SHARE);
      if (isOther || (await createPasses(redis, keys).takeBlobKeeper(passMs)) > 0) return limits.blobEveryMs;
      const isSettled = seconds * 1_000 >= limits.boundMs;
      const deleted = isSettled ? await sweep(keeping, Date.now() - limits.orphanMs, signal) : 0;
      if (deleted > 0) log.info({ deleted }, 'removed blobs that nothing points at');
      return limits.blobEveryMs;
    },
    retryMs: Math.min(limits.blobEveryMs, 60_000),
    onError(error) {
      log.warn({ err: error }, 'looking after the blobs failed; it is tried again');
      if (error instanceof BlobStoreError) onTrouble(error);
    },
  });
}

/**
 * Removes the blobs of a shard that were put before `beforeMs` and that nothing points at: those whose retention is
 * over, and orphans of writes that were killed. Returns how many. Stops when Redis no longer knows the store, because a
 * Redis that was emptied points at nothing.
 *
 * Contract: as `Blobs`; may be repeated, and run by several processes at once.
 */
export async function sweep(
  { redis, keys, blobs }: ShardBlobs,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for await (const { owner, names } of blobs.oldBlobs(beforeMs)) {
    if (signal.aborted) break;
    const chat = chatOfBlobs(owner);
    const files = chatFiles(redis, keys);
    const live = await (chat ? files.pointedAt(chat, names) : archiveBlobs(redis, keys, owner as SessionId));
    if ((await boundStoreId(redis)) === undefined) break;
    const orphans = names.filter((name) => !live.has(name));
    for (const name of orphans) await blobs.delete(owner, name);
    deleted += orphans.length;
  }
  return deleted;
}
