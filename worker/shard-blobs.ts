import { hostname } from 'node:os';
import type { Service } from '../shared/base/lifecycle.ts';
import type { Alert } from '../shared/flow/alert.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { queueAlert } from '../shared/state/incident/book.ts';
import { blobStoreAlert, otherBlobStoreAlert } from './alerts/causes/storage.ts';
import type { Blobs } from './blob/blobs.ts';
import { type BlobTrouble, startBlobKeeper } from './blob/orphan-sweep.ts';
import { openBlobStore, reportedBlobs } from './blob/store.ts';
import type { ProcessEnv } from './shard-env.ts';

/** One occurrence of trouble tells the operator enough for so long. */
const TROUBLE_EVERY_MS = 10_000;

/**
 * Opens the blobs of a shard and starts their keeper; neither where the bytes are kept in Redis. Touches nothing yet: a disk or a server that is not there is trouble, later.
 */
export function openBlobs(
  { settings, log, limits }: ProcessEnv,
  redis: RedisClient,
  shard: number,
): { blobs: Blobs | undefined; keeper: Service | undefined } {
  const store = openBlobStore(settings.BLOB_URL);
  if (store === undefined) return { blobs: undefined, keeper: undefined };
  const own = store.blobsOf(shard);
  const tell = teller(async (alert) => queueAlert(redis, keysOf(0), alert));
  const keeper = startBlobKeeper({
    redis,
    keys: keysOf(shard),
    blobs: own,
    storeId: store.id,
    log,
    limits,
    onTrouble: tell,
  });
  return { blobs: reportedBlobs(own, tell), keeper };
}

/** Queues an alert for trouble, at most one in a while. A Redis that takes none has an alert of its own. */
function teller(queue: (alert: Alert) => Promise<void>): (trouble: BlobTrouble) => void {
  const process = processName();
  let toldMs = Number.NEGATIVE_INFINITY;
  return (trouble) => {
    if (performance.now() - toldMs < TROUBLE_EVERY_MS) return;
    toldMs = performance.now();
    const alert = trouble === 'other store' ? otherBlobStoreAlert(process) : blobStoreAlert(trouble.code, process);
    queue(alert).catch(() => {
      toldMs = Number.NEGATIVE_INFINITY;
    });
  };
}

function processName(): string {
  return `process ${process.pid} on ${hostname()}`;
}
