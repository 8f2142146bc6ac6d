import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { editEnv } from './env-edit.ts';

const OWNER_ONLY = 0o600;

/**
 * Sets values in a settings file; a missing file begins as a copy of `template`. The file is read anew, so that what
 * somebody else wrote meanwhile stays. It is replaced as a whole, readable by its owner alone: killed at any point,
 * either the old or the new text is there.
 */
export async function writeEnv(file: string, template: string, changes: ReadonlyMap<string, string>): Promise<void> {
  const place = await realpath(file).catch(() => file);
  const text = (await textOf(place)) ?? (await textOf(template)) ?? '';
  const temporary = join(dirname(place), `.${basename(place)}.${randomUUID()}.tmp`);
  try {
    const handle = await open(temporary, 'wx', OWNER_ONLY);
    try {
      await keepOwner(handle, place);
      await handle.writeFile(editEnv(text, changes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, place);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(place));
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** An administrator who changes the file of a service must not lock the service out. */
async function keepOwner(handle: FileHandle, place: string): Promise<void> {
  const before = await stat(place).catch(() => undefined);
  const own = await handle.stat();
  if (before !== undefined && (before.uid !== own.uid || before.gid !== own.gid)) {
    await handle.chown(before.uid, before.gid);
  }
}

/** Without it the new name may be gone after a power cut. Some systems cannot open a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
