import { join } from 'node:path';
import type { BlobPlace } from '../../shared/base/blob-place.ts';
import type { Blobs } from './blobs.ts';
import { createFileBlobs } from './files.ts';

/** The blobs of a shard; `undefined` where bytes are kept in Redis. Touches no file yet. */
export function blobsAt(place: BlobPlace, shard: number): Blobs | undefined {
  return place.kind === 'redis' ? undefined : createFileBlobs(join(place.folder, String(shard)));
}
