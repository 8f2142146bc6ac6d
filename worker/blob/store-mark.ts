import { randomUUID } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindScript, type RunScript } from '../../shared/redis/script.ts';
import { PARTIAL_PREFIX, writeDurably } from './durable-file.ts';

/** What the data says of the store of a process. */
export interface Binding {
  /** The data refers to another store: this process has the wrong folder, or the data the wrong Redis. */
  isOther: boolean;
  /** How long the data has referred to the noted store. */
  seconds: number;
}

const MARK = 'store-id';
/** What the id of a store looks like. */
export const STORE_ID = /^[\da-f-]{36}$/;

/** The id of a folder of blobs; `undefined` when it has none yet, or does not exist. */
export async function readStoreId(folder: string): Promise<string | undefined> {
  try {
    const id = (await readFile(join(folder, MARK), 'utf8')).trim();
    if (!STORE_ID.test(id)) throw new Error(`${join(folder, MARK)} does not hold the id of a blob store`);
    return id;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The same; a folder without an id is given one. Of several processes that do so at once one is first. */
export async function storeIdOf(folder: string): Promise<string> {
  const known = await readStoreId(folder);
  if (known !== undefined) return known;
  const own = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, own, Buffer.from(`${randomUUID()}\n`));
  try {
    await link(own, join(folder, MARK));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(own, { force: true });
  }
  return storeIdOf(folder);
}

/**
 * Binds the data to a store: the first store that is used with it is noted, and every process compares its own.
 *
 * Contract: the returned function may be repeated, and rejects when Redis cannot be reached, and with `BlobStoreError`.
 */
export function createBinding(redis: RedisClient, storeId: () => Promise<string>): () => Promise<Binding> {
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
