import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Only the gateway's own user reads what people wrote. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** A folder can be removed while a file is written into it. */
const TRIES = 3;
const SYNCED_MAX = 10_000;
/** Folders whose place in the tree is known to be on the disk. */
const synced = new Set<string>();

/** How files that are not complete begin. A killed write leaves one behind. */
export const PARTIAL_PREFIX = '.part-';

/**
 * Writes a file so that its name never shows a part of it, not even after a crash of the machine: under another name
 * first, then on the disk, then renamed, and the folders are on the disk too when this resolves. A file of that name is
 * replaced. `root` is the folder above which nothing is created.
 */
export async function writeDurably(root: string, path: string, bytes: Buffer): Promise<void> {
  for (let left = TRIES; ; left--) {
    try {
      await makeFolder(root, dirname(path));
      return await writeOnce(path, bytes);
    } catch (error) {
      synced.delete(dirname(path));
      if (left <= 1 || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

async function writeOnce(path: string, bytes: Buffer): Promise<void> {
  const partial = join(dirname(path), `${PARTIAL_PREFIX}${randomUUID()}`);
  try {
    const file = await open(partial, 'wx', FILE_MODE);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes a folder, with those above it that are missing. */
async function makeFolder(root: string, folder: string): Promise<void> {
  if (synced.has(folder)) return;
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const top = first !== undefined && root.startsWith(first) ? dirname(first) : root;
  // Below the root always: whoever made a folder may have been killed before its place in the tree was on the disk.
  for (let at = folder; at !== top; at = dirname(at)) await syncFolder(dirname(at));
  if (synced.size >= SYNCED_MAX) synced.clear();
  synced.add(folder);
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
