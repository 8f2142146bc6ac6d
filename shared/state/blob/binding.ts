import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';

/**
 * Binds the data in Redis to one blob store: Redis has the id of the first store, and each process compares the id of its own
 * store with that id.
 *
 * Contract: `isOther` means that the data refers to a store other than this process's, because of a wrong folder or a wrong
 * Redis; `seconds` is the age of the binding. The returned function is idempotent. It rejects when Redis cannot be reached,
 * and with `BlobStoreError` when the id of the store cannot be read.
 */
export function createBinding(redis: RedisClient, storeId: () => Promise<string>) {
  const bind: RunScript<[id: string, seconds: number]> = bindScript(redis, `${import.meta.dirname}/bind.lua`);
  return async () => {
    const idHere = await storeId();
    const [storedId, seconds] = await bind([keysOf(0).blobStore], [idHere]);
    return { isOther: storedId !== idHere, seconds };
  };
}

/** The id of the blob store that the data in Redis refers to; `undefined` if none is stored. */
export async function boundStoreId(redis: RedisClient): Promise<string | undefined> {
  return (await redis.hget(keysOf(0).blobStore, 'id')) ?? undefined;
}
