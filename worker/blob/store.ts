import type { Blobs } from './blobs.ts';

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
