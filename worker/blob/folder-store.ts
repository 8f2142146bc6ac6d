import { randomUUID } from 'node:crypto';
import { access, constants, link, mkdir, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ifPresent, replaceFile, syncFolder } from '../../shared/base/synced-file.ts';
import {
  type BlobOwner,
  type BlobStore,
  BlobStoreError,
  type Blobs,
  blobPath,
  DamagedBlobError,
  folderOf,
  isBlobName,
  newBlobName,
  STORE_ID,
  STORE_MARK,
  verify,
} from './blobs.ts';

/** Only the gateway's own user may read people's data. */
const FOLDER_MODE = 0o700;
/** How many times a write is tried, since the sweep may remove the new, empty folder before the file is in that folder. */
const TRIES = 3;
const SYNCED_MAX = 10_000;
/** The folders whose entries in their parent folders are known to be on the disk. */
const synced = new Set<string>();

/** The prefix of the names of incomplete files. A killed write leaves such a file behind. */
const PARTIAL_PREFIX = '.part-';

/** Opens a folder as a blob store. */
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
 * Stores blobs as files in a folder: `media/ab/cd/<chat>/<name>`, and `archive/ab/cd/<session>/<name>`. The clocks of the
 * machines that use the folder must agree to within about a minute.
 */
export function createFileBlobs(root: string): Blobs {
  const pathOf = (owner: BlobOwner, name: string) => join(root, blobPath(owner, name));
  return {
    async put(owner, bytes) {
      const name = newBlobName(bytes);
      await inStore(() => writeDurably(root, pathOf(owner, name), bytes));
      return name;
    },
    get: async (owner, name) => verify(name, await inStore(() => readWhole(pathOf(owner, name)))),
    delete: (owner, name) => inStore(() => rm(pathOf(owner, name), { force: true })),
    deleteAll: (owner) => inStore(() => rm(join(root, folderOf(owner)), { recursive: true, force: true })),
    async *oldBlobs(beforeMs) {
      for (const each of ['media', 'archive'])
        for await (const folder of leavesOf(join(root, each), 3)) {
          const names = await inStore(() => oldIn(folder, beforeMs));
          if (names.length > 0) yield { owner: basename(folder) as BlobOwner, names };
          // This fails unless the folder is empty.
          await rmdir(folder).catch(() => {});
        }
    },
  };
}

/** Runs work on files, and turns a system error into a `BlobStoreError`. Other errors stay as they are. */
async function inStore<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const systemError = error as NodeJS.ErrnoException;
    throw typeof systemError.syscall === 'string' ? new BlobStoreError(systemError) : error;
  }
}

/**
 * Writes or replaces a file so that there is never an incomplete file of this name, not even after a crash of the machine.
 * Writes and syncs a file of another name, renames it, and syncs its folder. Creates and syncs missing folders, `root`
 * included.
 */
async function writeDurably(root: string, path: string, bytes: Buffer): Promise<void> {
  for (let tries = TRIES; ; tries--) {
    try {
      await makeFolder(root, dirname(path));
      return await writeOnce(path, bytes);
    } catch (error) {
      synced.delete(dirname(path));
      if (tries <= 1 || codeOf(error) !== 'ENOENT') throw error;
    }
  }
}

async function writeOnce(path: string, bytes: Buffer): Promise<void> {
  await replaceFile(path, join(dirname(path), `${PARTIAL_PREFIX}${randomUUID()}`), bytes);
  await syncFolder(dirname(path));
}

/** Makes a folder and its missing parents, and syncs them, unless this process has synced the folder before. */
async function makeFolder(root: string, folder: string): Promise<void> {
  if (synced.has(folder)) return;
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const top = first !== undefined && root.startsWith(first) ? dirname(first) : root;
  // Sync existing folders, too: the process that made a folder may have been killed before it synced the folder.
  for (let at = folder; at !== top; at = dirname(at)) await syncFolder(dirname(at));
  if (synced.size >= SYNCED_MAX) synced.clear();
  synced.add(folder);
}

/** Reads a file; `undefined` if there is none. A bad sector (EIO) damages one blob; any other error concerns the store. */
async function readWhole(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) === 'EIO') throw new DamagedBlobError('a blob cannot be read from the disk', { cause: error });
    throw error;
  }
}

/** Yields the folders that lie `depth` levels below a folder. */
async function* leavesOf(folder: string, depth: number): AsyncGenerator<string> {
  if (depth === 0) yield folder;
  else for (const name of await inStore(() => namesIn(folder))) yield* leavesOf(join(folder, name), depth - 1);
}

/** Lists the old blobs of a folder. Removes old incomplete files, which killed writes left behind. */
async function oldIn(folder: string, beforeMs: number): Promise<string[]> {
  const names = await namesIn(folder);
  const all = await Promise.all(names.map((name) => ifPresent(stat(join(folder, name)))));
  const oldNames = names.filter((_, at) => (all[at]?.mtimeMs ?? beforeMs) < beforeMs);
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

async function readStoreId(folder: string): Promise<string | undefined> {
  const mark = join(folder, STORE_MARK);
  const id = (await readWhole(mark))?.toString().trim();
  if (id === undefined || STORE_ID.test(id)) return id;
  throw new Error(`${mark} does not hold the id of a blob store`);
}

async function storeIdOf(folder: string): Promise<string> {
  const id = await readStoreId(folder);
  if (id !== undefined) return id;
  const partial = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, partial, Buffer.from(`${randomUUID()}\n`));
  try {
    await link(partial, join(folder, STORE_MARK));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(partial, { force: true });
  }
  return storeIdOf(folder);
}

/** Writes a test file; returns false if the folder is missing. Makes no folder: it would belong to the user of the check. */
async function probe(folder: string): Promise<boolean> {
  let existing = folder;
  while ((await ifPresent(stat(existing))) === undefined && existing !== dirname(existing))
    existing = dirname(existing);
  await access(existing, constants.W_OK);
  if (existing !== folder) return false;
  const file = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, file, Buffer.from('check'));
  await rm(file, { force: true });
  return true;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
