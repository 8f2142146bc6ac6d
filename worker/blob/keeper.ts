import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { createBinding } from '../../shared/state/blob/binding.ts';
import { createPasses } from '../../shared/state/process/process.ts';
import { BlobStoreError } from './blobs.ts';
import { type SweepPorts, sweep } from './sweep.ts';

export interface BlobKeeperPorts extends SweepPorts {
  log: Logger;
  /** The id of the store that holds the blobs. Contract: as `BlobStore`. */
  storeId: () => Promise<string>;
  limits: BlobLimits;
  /** Called for each round that found another store, or could not use it. Contract: never throws. */
  onTrouble: (trouble: BlobTrouble) => void;
}

/** What keeps a store from being used, for the operator: it is not the one of the data, or it fails. */
export type BlobTrouble = 'other store' | BlobStoreError;

/** Shorter than the defaults in tests. */
export interface BlobLimits {
  blobEveryMs: number;
  /** A blob that nothing points at is removed when it is older than this. */
  orphanMs: number;
  /** Nothing is removed before the data has referred to the store for so long. */
  boundMs: number;
}

/**
 * An orphan may still get its pointer for half an hour (`APPEND_SECONDS_MAX`). An empty Redis that a process was
 * pointed at by mistake refers to nothing, so a day passes before that is believed.
 */
export const BLOB_LIMITS: BlobLimits = { blobEveryMs: 3_600_000, orphanMs: 3_600_000, boundMs: 24 * 3_600_000 };

/** Of several processes one makes the pass; the next one is due a little later. */
const PASS_SHARE = 0.9;

/**
 * Looks after the blobs of a shard, at the start and then regularly: compares the store with the one that the data
 * refers to, and removes what nothing points at. Idempotent; several may run side by side, and all processes together make
 * one pass each time.
 */
export function startBlobKeeper(ports: BlobKeeperPorts): Service {
  const { redis, keys, log, limits, onTrouble } = ports;
  const bind = createBinding(redis, ports.storeId);
  return runLoop({
    name: 'blob keeper',
    async round(signal) {
      const { isOther, seconds } = await bind();
      if (isOther) onTrouble('other store');
      const passMs = Math.ceil(limits.blobEveryMs * PASS_SHARE);
      if (isOther || (await createPasses(redis, keys).takeBlobKeeper(passMs)) > 0) return limits.blobEveryMs;
      const isSettled = seconds * 1_000 >= limits.boundMs;
      const deleted = isSettled ? await sweep(ports, Date.now() - limits.orphanMs, signal) : 0;
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
