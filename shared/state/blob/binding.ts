import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';

/**
 * Binds the data in Redis to its blob store: Redis has the id of the first store, and every process compares its own.
 *
 * Contract: `isOther` means that the data refers to another store than this process, because of a wrong folder or a wrong
 * Redis; `seconds` is the age of the binding. Idempotent. Rejects when Redis cannot be reached, and with `BlobStoreError`.
 */
export function createBinding(redis: RedisClient, storeId: () => Promise<string>) {
  const bind: RunScript<[id: string, seconds: number]> = bindScript(redis, join(import.meta.dirname, 'bind.lua'));
  return async () => {
    const idHere = await storeId();
    const [storedId, seconds] = await bind([keysOf(0).blobStore], [idHere]);
    return { isOther: storedId !== idHere, seconds };
  };
}

/** The id of the store that the data refers to, if any. */
export async function boundStoreId(redis: RedisClient): Promise<string | undefined> {
  return (await redis.hget(keysOf(0).blobStore, 'id')) ?? undefined;
}
