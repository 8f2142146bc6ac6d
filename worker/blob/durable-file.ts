import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Only the gateway's own user may read people's data. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** How many times a write is tried, since the sweep may remove the new, empty folder before the file is in that folder. */
const TRIES = 3;
const SYNCED_MAX = 10_000;
/** The folders whose entries in their parent folders are known to be on the disk. */
const synced = new Set<string>();

/** The prefix of the names of incomplete files. A killed write leaves such a file behind. */
export const PARTIAL_PREFIX = '.part-';

/**
 * Writes or replaces a file so that there is never an incomplete file of this name, not even after a crash of the machine.
 * Writes and syncs a file of another name, renames it, and syncs its folder. Creates and syncs missing folders, `root`
 * included.
 */
export async function writeDurably(root: string, path: string, bytes: Buffer): Promise<void> {
  for (let tries = TRIES; ; tries--) {
    try {
      await makeFolder(root, dirname(path));
      return await writeOnce(path, bytes);
    } catch (error) {
      synced.delete(dirname(path));
      if (tries <= 1 || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
