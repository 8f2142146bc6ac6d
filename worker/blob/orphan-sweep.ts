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

/** The blobs of a shard, and the Redis that has the pointers to them. */
interface ShardBlobs {
  redis: RedisClient;
  keys: Keys;
  blobs: Blobs;
}

interface KeeperOptions extends ShardBlobs {
  log: Logger;
  /** Reads the id of the store that holds the blobs. Contract: rejects with `BlobStoreError` while the store is unusable. */
  storeId: () => Promise<string>;
  limits: Pick<Limits, 'blobEveryMs' | 'orphanMs' | 'boundMs'>;
  /** Called in each round in which the data refers to another store, and on new errors of the store. Contract: never throws. */
  onTrouble: (trouble: BlobTrouble) => void;
}

/** The trouble with a store, for operators: the data in Redis refers to another store, or the store is unusable. */
export type BlobTrouble = 'other store' | BlobStoreError;

/** After one process has begun a pass, the other processes skip theirs for this share of the time between two passes. */
const PASS_SHARE = 0.9;

/**
 * Starts the blob keeper of a shard. Each round checks that the store is the one that the data refers to. If Redis has known
 * the id of the store for `boundMs`, one of the processes also removes orphans. Idempotent; several keepers may run at once.
 */
export function startBlobKeeper(options: KeeperOptions): Service {
  const { redis, keys, log, limits, onTrouble } = options;
  const bind = createBinding(redis, options.storeId);
  return runLoop({
    name: 'blob keeper',
    async round(signal) {
      const { isOther, seconds } = await bind();
      if (isOther) onTrouble('other store');
      const passMs = Math.ceil(limits.blobEveryMs * PASS_SHARE);
      if (isOther || (await createPasses(redis, keys).takeBlobKeeper(passMs)) > 0) return limits.blobEveryMs;
      const isLongBound = seconds * 1_000 >= limits.boundMs;
      const deleted = isLongBound ? await sweep(options, Date.now() - limits.orphanMs, signal) : 0;
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
 * Removes the blobs of a shard that were put before `beforeMs` and have no pointer, such as those whose retention is over, and
 * those of killed writes. Returns their number. Stops on abort, and if Redis has lost the id of the store, because an emptied
 * Redis has no pointers.
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
