import type { BlobPlace } from '../../shared/base/blob-place.ts';
import { type BlobStore, BlobStoreError, type Blobs } from './blobs.ts';
import { openBucketStore } from './bucket-store.ts';
import { openFolderStore } from './folder-store.ts';

/** Opens the store at a place; `undefined` if Redis holds the bytes itself. Does not access the place yet. */
export function openBlobStore(place: BlobPlace): BlobStore | undefined {
  if (place.kind === 'redis') return undefined;
  return place.kind === 's3' ? openBucketStore(place) : openFolderStore(place.folder);
}

/** Wraps blobs so that `onTrouble` also gets each `BlobStoreError` from a put or a get. */
export function reportedBlobs(blobs: Blobs, onTrouble: (error: BlobStoreError) => void): Blobs {
  const withReport = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      if (error instanceof BlobStoreError) onTrouble(error);
      throw error;
    }
  };
  return {
    ...blobs,
    put: (owner, bytes) => withReport(blobs.put(owner, bytes)),
    get: (owner, name) => withReport(blobs.get(owner, name)),
  };
}
