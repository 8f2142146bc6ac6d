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

/** The shortest time between two alerts about the store. */
const TROUBLE_EVERY_MS = 10_000;

/**
 * Opens the blobs of a shard and starts their keeper; returns neither if Redis itself stores the bytes. Does not wait for the
 * store: a missing disk or server causes an alert later.
 */
export function openBlobs(
  { settings, log, limits }: ProcessEnv,
  redis: RedisClient,
  shard: number,
): { blobs: Blobs | undefined; keeper: Service | undefined } {
  const store = openBlobStore(settings.BLOB_URL);
  if (store === undefined) return { blobs: undefined, keeper: undefined };
  const own = store.blobsOf(shard);
  const reportTrouble = createTroubleAlert(async (alert) => queueAlert(redis, keysOf(0), alert));
  const keeper = startBlobKeeper({
    redis,
    keys: keysOf(shard),
    blobs: own,
    storeId: store.id,
    log,
    limits,
    onTrouble: reportTrouble,
  });
  return { blobs: reportedBlobs(own, reportTrouble), keeper };
}

/** Returns a function that queues at most one alert in `TROUBLE_EVERY_MS`. Ignores a failing Redis, which has its own alert. */
function createTroubleAlert(queue: (alert: Alert) => Promise<void>): (trouble: BlobTrouble) => void {
  const process = processName();
  let alertMs = Number.NEGATIVE_INFINITY;
  return (trouble) => {
    if (performance.now() - alertMs < TROUBLE_EVERY_MS) return;
    alertMs = performance.now();
    const alert = trouble === 'other store' ? otherBlobStoreAlert(process) : blobStoreAlert(trouble.code, process);
    queue(alert).catch(() => {
      alertMs = Number.NEGATIVE_INFINITY;
    });
  };
}

function processName(): string {
  return `process ${process.pid} on ${hostname()}`;
}
