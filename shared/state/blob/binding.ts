import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';

/**
 * Binds the data to a store: the first store that is used with it is noted, and every process compares its own.
 *
 * Contract: the returned function says whether the data refers to another store, since this process has the wrong folder or
 * the data the wrong Redis, and for how long it has referred to the noted one. It may be repeated, and rejects when Redis cannot be reached, and with `BlobStoreError`.
 */
export function createBinding(redis: RedisClient, storeId: () => Promise<string>) {
  const bind: RunScript<[id: string, seconds: number]> = bindScript(redis, join(import.meta.dirname, 'bind.lua'));
  return async () => {
    const own = await storeId();
    const [id, seconds] = await bind([keysOf(0).blobStore], [own]);
    return { isOther: id !== own, seconds };
  };
}

/** The id of the store that the data refers to, if it refers to one. */
export async function notedStoreId(redis: RedisClient): Promise<string | undefined> {
  return (await redis.hget(keysOf(0).blobStore, 'id')) ?? undefined;
}
