import { randomUUID } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PARTIAL_PREFIX, writeDurably } from './durable-file.ts';

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
