import { type FileHandle, open, rename, rm } from 'node:fs/promises';

/** Only the owner may read the files. */
const FILE_MODE = 0o600;

/**
 * Writes or replaces a file in one step: writes and syncs a file of the name `partial`, then renames it. `prepare` may change
 * the new file before its content is written. The caller syncs the folder.
 */
export async function replaceFile(
  path: string,
  partial: string,
  content: string | Buffer,
  prepare?: (file: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    const file = await open(partial, 'wx', FILE_MODE);
    try {
      await prepare?.(file);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
    throw error;
  }
}

/** The result of work on a file; `undefined` if the file does not exist. */
export async function ifPresent<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? undefined : Promise.reject(error)));
}

/** Flushes a folder to disk, so that its new files survive a power cut. Rejects on systems that cannot open a folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
