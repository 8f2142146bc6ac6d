import type { BlobPlace } from '../../shared/base/blob-place.ts';
import { openBucketStore } from './bucket-store.ts';
import { openFolderStore } from './folder-store.ts';
import type { BlobStore } from './store.ts';

/** The store at a place; `undefined` where bytes are kept in Redis. Touches nothing yet. */
export function openBlobStore(place: BlobPlace): BlobStore | undefined {
  if (place.kind === 'redis') return undefined;
  return place.kind === 's3' ? openBucketStore(place) : openFolderStore(place.folder);
}
