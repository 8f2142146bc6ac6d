import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { blobName, folderOf, SHA256_NAME } from './blob-name.ts';
import { type BlobOwner, type Blobs, blobId, DamagedBlobError, inStore } from './blobs.ts';
import { PARTIAL_PREFIX, writeDurably } from './durable-file.ts';

/** How a file is named while it is being removed. */
const DYING_PREFIX = '.dying-';
const MEDIA = 'media';
const ARCHIVE = 'archive';

/**
 * Blobs as files of a folder: `media/ab/cd/<chat>/<sha256>`, and `archive/ab/cd/<session>/<sha256>`. The machines that use
 * the folder need one clock, to about a minute.
 */
export function createFileBlobs(root: string): Blobs {
  return {
    async put(owner, bytes) {
      const sha256 = blobId(bytes);
      // Written anew even where it exists: that heals a damaged file, and makes it new for whoever removes old ones.
      await inStore(() => writeDurably(root, pathOf(root, owner, sha256), bytes));
      return sha256;
    },
    async get(owner, sha256) {
      const bytes = await inStore(() => readIntact(pathOf(root, owner, sha256)));
      if (bytes !== undefined && blobId(bytes) !== sha256) throw new DamagedBlobError(`blob ${sha256} is damaged`);
      return bytes;
    },
    delete: (owner, sha256) => inStore(() => rm(pathOf(root, owner, sha256), { force: true })),
    deleteAll: (owner) => inStore(() => rm(join(root, folderOf(owner)), { recursive: true, force: true })),
    async *oldBlobs(beforeMs) {
      for (const each of [MEDIA, ARCHIVE])
        for await (const folder of leavesOf(join(root, each), 3)) {
          const sha256s = await inStore(() => oldIn(folder, beforeMs));
          if (sha256s.length > 0) yield { owner: basename(folder) as BlobOwner, sha256s };
          // Only a folder that is empty can be removed so.
          await rmdir(folder).catch(() => {});
        }
    },
    deleteOld: (owner, sha256, beforeMs) => inStore(() => deleteOld(pathOf(root, owner, sha256), beforeMs)),
  };
}

function pathOf(root: string, owner: BlobOwner, sha256: string): string {
  return join(root, blobName(owner, sha256));
}

/** A bad sector is damage to one blob; whatever else goes wrong says nothing about it. */
async function readIntact(path: string): Promise<Buffer | undefined> {
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

/** The old blobs of a folder. */
async function oldIn(folder: string, beforeMs: number): Promise<string[]> {
  const names = await namesIn(folder);
  const old = await Promise.all(names.map((name) => isOld(join(folder, name), beforeMs)));
  const oldNames = names.filter((_, at) => old[at]);
  for (const name of oldNames) if (!SHA256_NAME.test(name)) await tidy(folder, name, beforeMs);
  return oldNames.filter((name) => SHA256_NAME.test(name));
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
  const about = await statOf(path);
  return about !== undefined && about.mtimeMs < beforeMs;
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes what a killed process left. A file that it was removing may be wanted by now, so it becomes a blob again. */
async function tidy(folder: string, name: string, beforeMs: number): Promise<void> {
  const path = join(folder, name);
  if (name.startsWith(PARTIAL_PREFIX)) return rm(path, { force: true });
  const about = await statOf(path);
  // The time of its renaming: whoever renamed it lately is at work.
  if (!name.startsWith(DYING_PREFIX) || about === undefined || about.ctimeMs >= beforeMs) return;
  const blob = join(folder, name.slice(-64));
  if ((await statOf(blob)) === undefined) await rename(path, blob).catch(ignoreGone);
  else await rm(path, { force: true });
}

/**
 * Looks at the file's age after it was put aside: a put of the same bytes either came before, and then the file is new
 * and goes back, or comes later, and writes a file of its own. However long this process stands still in between, what
 * was put is there.
 */
async function deleteOld(path: string, beforeMs: number): Promise<boolean> {
  if (!(await isOld(path, beforeMs))) return false;
  const sha256 = path.slice(-64);
  const dying = join(dirname(path), `${DYING_PREFIX}${randomUUID()}-${sha256}`);
  try {
    await rename(path, dying);
    if (await isOld(dying, beforeMs)) {
      await rm(dying, { force: true });
      return true;
    }
    await rename(dying, path);
  } catch (error) {
    ignoreGone(error);
  }
  return false;
}

/** Somebody else removed it, or put it back. */
function ignoreGone(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
