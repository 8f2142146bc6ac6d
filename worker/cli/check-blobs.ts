import type { Config } from '../../shared/base/config.ts';
import type { RedisAddress } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { notedStoreId } from '../../shared/state/blob/binding.ts';
import { openBlobStore } from '../blob/store.ts';
import type { ReachedRedis } from './check-redis.ts';
import type { Finding } from './finding.ts';

const REDIS_DEADLINE_MS = 5_000;
const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same one (see blob-store in the runbook)';

/**
 * Checks that the blob store takes something, and that it is the one that the data refers to. Binds and changes nothing.
 */
export async function checkBlobs(config: Config, { address }: ReachedRedis): Promise<Finding[]> {
  const store = openBlobStore(config.BLOB_URL);
  const noted = await notedStore(address).catch(() => undefined);
  if (store === undefined) {
    const detail = 'kept in Redis';
    if (noted === undefined) return [{ part: 'blobs', ok: true, detail }];
    return [
      { part: 'blobs', ok: false, detail: `${detail}, but the data refers to a store: its files cannot be read` },
    ];
  }
  try {
    const own = await store.readId();
    const isThere = await store.probe();
    if (noted !== undefined && own !== noted)
      return [{ part: 'blobs', ok: false, detail: `${store.name}: ${OTHER_STORE}` }];
    const state = isThere ? 'takes files' : 'is made at the first start';
    return [{ part: 'blobs', ok: true, detail: `${store.name}, ${state}; workers on other machines need the same` }];
  } catch (error) {
    return [{ part: 'blobs', ok: false, detail: `${store.name}: ${(error as Error).message}` }];
  }
}

/** A Redis that does not answer is reported by its own check. */
async function notedStore(address: RedisAddress | undefined): Promise<string | undefined> {
  if (address === undefined) return undefined;
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    return await notedStoreId(redis);
  } finally {
    redis.disconnect();
  }
}
