import { randomUUID } from 'node:crypto';
import { access, constants, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inStore } from './blobs.ts';
import { PARTIAL_PREFIX, writeDurably } from './durable-file.ts';
import { createFileBlobs } from './files.ts';
import type { BlobStore } from './store.ts';
import { readStoreId, storeIdOf } from './store-mark.ts';

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
