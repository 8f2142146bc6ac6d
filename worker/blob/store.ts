import type { BlobPlace } from '../../shared/base/blob-place.ts';
import type { Blobs } from './blobs.ts';
import { openBucketStore } from './bucket-store.ts';
import { openFolderStore } from './folder-store.ts';

/**
 * A place outside of Redis for the blobs of all shards.
 *
 * Contract: each method may be repeated, and rejects with `BlobStoreError` when the place cannot be used just now.
 */
export interface BlobStore {
  /** Where it is, for the operator. Holds no keys. */
  readonly name: string;
  /** The blobs of a shard. Touches nothing yet. */
  blobsOf(shard: number): Blobs;
  /** The id of the place; `undefined` when it has none yet, or does not exist. */
  readId(): Promise<string | undefined>;
  /** The same; a place without an id is given one. Of several processes that do so at once one is first. */
  id(): Promise<string>;
  /** Writes and removes something. Returns `false` where the place is yet to be made, at the first start. */
  probe(): Promise<boolean>;
}

/** The store at a place; `undefined` where bytes are kept in Redis. Touches nothing yet. */
export function openBlobStore(place: BlobPlace): BlobStore | undefined {
  if (place.kind === 'redis') return undefined;
  return place.kind === 's3' ? openBucketStore(place) : openFolderStore(place.folder);
}
