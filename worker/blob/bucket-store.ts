import { randomUUID } from 'node:crypto';
import type { BucketPlace } from '../../shared/base/blob-place.ts';
import { BlobStoreError, blobId } from './blobs.ts';
import type { Bucket } from './bucket.ts';
import { createBucketBlobs } from './bucket-blobs.ts';
import type { BlobStore } from './store.ts';
import { STORE_ID } from './store-mark.ts';

const MARK = 'store-id';

/** A part of a bucket as a store. The client is loaded when it is first needed: it is large. */
export function openBucketStore(place: BucketPlace): BlobStore {
  const { bucket: name, prefix, endpoint } = place;
  let opened: Promise<Bucket> | undefined;
  const open = (): Promise<Bucket> => {
    opened ??= import('./bucket.ts').then(({ openBucket }) => openBucket(place));
    return opened;
  };
  const readId = async (): Promise<string | undefined> => {
    const bytes = await (await open()).get(prefix + MARK);
    const id = bytes?.toString().trim();
    if (id === undefined || STORE_ID.test(id)) return id;
    throw new BlobStoreError(Object.assign(new Error(`${prefix}${MARK} does not hold an id`), { code: 'NoStoreId' }));
  };
  return {
    name: `s3://${name}/${prefix}${endpoint === undefined ? '' : ` at ${endpoint}`}`,
    blobsOf: (shard) => createBucketBlobs(open, `${prefix}${shard}/`),
    readId,
    async id() {
      for (;;) {
        const known = await readId();
        if (known !== undefined) return known;
        await (await open()).putNew(prefix + MARK, Buffer.from(`${randomUUID()}\n`));
      }
    },
    async probe() {
      const bucket = await open();
      const [key, bytes] = [`${prefix}probe/${randomUUID()}`, Buffer.from('check')];
      await bucket.put(key, bytes, blobId(bytes));
      await bucket.delete(key);
      return true;
    },
  };
}
