import { randomUUID } from 'node:crypto';
import { access, constants, link, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type BlobOwner,
  type BlobStore,
  BlobStoreError,
  type Blobs,
  blobPath,
  DamagedBlobError,
  folderOf,
  intact,
  isBlobName,
  newBlobName,
  STORE_ID,
  STORE_MARK,
} from './blobs.ts';
import { PARTIAL_PREFIX, writeDurably } from './durable-file.ts';

/** A folder as a store. */
export function openFolderStore(folder: string): BlobStore {
  return {
    name: folder,
    blobsOf: (shard) => createFileBlobs(join(folder, String(shard))),
    readId: () => inStore(() => readStoreId(folder)),
    id: () => inStore(() => storeIdOf(folder)),
    probe: () => inStore(() => probe(folder)),
  };
}

/**
 * Blobs as files of a folder: `media/ab/cd/<chat>/<name>`, and `archive/ab/cd/<session>/<name>`. The machines that use
 * the folder need one clock, to about a minute.
 */
export function createFileBlobs(root: string): Blobs {
  const pathOf = (owner: BlobOwner, name: string) => join(root, blobPath(owner, name));
  return {
    async put(owner, bytes) {
      const name = newBlobName(bytes);
      await inStore(() => writeDurably(root, pathOf(owner, name), bytes));
      return name;
    },
    get: async (owner, name) => intact(name, await inStore(() => readWhole(pathOf(owner, name)))),
    delete: (owner, name) => inStore(() => rm(pathOf(owner, name), { force: true })),
    deleteAll: (owner) => inStore(() => rm(join(root, folderOf(owner)), { recursive: true, force: true })),
    async *oldBlobs(beforeMs) {
      for (const each of ['media', 'archive'])
        for await (const folder of leavesOf(join(root, each), 3)) {
          const names = await inStore(() => oldIn(folder, beforeMs));
          if (names.length > 0) yield { owner: basename(folder) as BlobOwner, names };
          // Only a folder that is empty can be removed so.
          await rmdir(folder).catch(() => {});
        }
    },
  };
}

/** Runs work on files, and makes of an error of the system one of the store. */
async function inStore<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const ofTheSystem = error as NodeJS.ErrnoException;
    throw typeof ofTheSystem.syscall === 'string' ? new BlobStoreError(ofTheSystem) : error;
  }
}

/** A bad sector is damage to one blob; whatever else goes wrong says nothing about it. */
async function readWhole(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) === 'EIO') throw new DamagedBlobError('a blob cannot be read from the disk', { cause: error });
    throw error;
  }
}

/** The folders that lie so deep. */
async function* leavesOf(folder: string, depth: number): AsyncGenerator<string> {
  if (depth === 0) yield folder;
  else for (const name of await inStore(() => namesIn(folder))) yield* leavesOf(join(folder, name), depth - 1);
}

/** The old blobs of a folder. Old parts of files, which killed writes left, are removed. */
async function oldIn(folder: string, beforeMs: number): Promise<string[]> {
  const names = await namesIn(folder);
  const old = await Promise.all(names.map((name) => isOld(join(folder, name), beforeMs)));
  const oldNames = names.filter((_, at) => old[at]);
  for (const name of oldNames) if (name.startsWith(PARTIAL_PREFIX)) await rm(join(folder, name), { force: true });
  return oldNames.filter(isBlobName);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

async function isOld(path: string, beforeMs: number): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs < beforeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function readStoreId(folder: string): Promise<string | undefined> {
  const mark = join(folder, STORE_MARK);
  const id = (await readWhole(mark))?.toString().trim();
  if (id === undefined || STORE_ID.test(id)) return id;
  throw new Error(`${mark} does not hold the id of a blob store`);
}

async function storeIdOf(folder: string): Promise<string> {
  const known = await readStoreId(folder);
  if (known !== undefined) return known;
  const own = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, own, Buffer.from(`${randomUUID()}\n`));
  try {
    await link(own, join(folder, STORE_MARK));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(own, { force: true });
  }
  return storeIdOf(folder);
}

/** Makes no folder: it would belong to whoever runs the check, and not to the gateway. */
async function probe(folder: string): Promise<boolean> {
  let existing = folder;
  while (!(await exists(existing)) && existing !== dirname(existing)) existing = dirname(existing);
  await access(existing, constants.W_OK);
  if (existing !== folder) return false;
  const file = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, file, Buffer.from('check'));
  await rm(file, { force: true });
  return true;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? false : Promise.reject(error)),
  );
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
