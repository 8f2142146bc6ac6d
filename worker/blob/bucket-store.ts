import { randomUUID } from 'node:crypto';
import type { BucketPlace } from '../../shared/base/blob-place.ts';
import {
  type BlobOwner,
  type BlobStore,
  BlobStoreError,
  type Blobs,
  blobId,
  blobPath,
  folderOf,
  newBlobName,
  readBlobPath,
  STORE_ID,
  STORE_MARK,
  sha256In,
  verify,
} from './blobs.ts';
import type { Bucket } from './bucket.ts';

const DELETIONS_AT_ONCE = 16;

/** Opens the objects of a bucket under a prefix as a store. Loads the S3 client, which is large, at the first access. */
export function openBucketStore(place: BucketPlace): BlobStore {
  const { bucket: name, prefix, endpoint } = place;
  let opened: Promise<Bucket> | undefined;
  const open = (): Promise<Bucket> => {
    opened ??= import('./bucket.ts').then(({ openBucket }) => openBucket(place));
    return opened;
  };
  const readId = async (): Promise<string | undefined> => {
    const id = (await (await open()).get(prefix + STORE_MARK))?.toString().trim();
    if (id === undefined || STORE_ID.test(id)) return id;
    throw new BlobStoreError(Object.assign(new Error('the mark holds no id'), { code: 'NoStoreId' }));
  };
  return {
    name: `s3://${name}/${prefix}${endpoint === undefined ? '' : ` at ${endpoint}`}`,
    blobsOf: (shard) => createBucketBlobs(open, `${prefix}${shard}/`),
    readId,
    async id() {
      for (;;) {
        const id = await readId();
        if (id !== undefined) return id;
        await (await open()).putNew(prefix + STORE_MARK, Buffer.from(`${randomUUID()}\n`));
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

/**
 * Stores blobs as objects of a bucket, under the same paths as in a folder. The clocks of the machines that use the bucket must
 * agree with the clock of its server to within about a minute.
 */
function createBucketBlobs(open: () => Promise<Bucket>, prefix: string): Blobs {
  return {
    async put(owner, bytes) {
      const name = newBlobName(bytes);
      const key = prefix + blobPath(owner, name);
      await (await open()).put(key, bytes, sha256In(name));
      return name;
    },
    async get(owner, name) {
      const key = prefix + blobPath(owner, name);
      return verify(name, await (await open()).get(key));
    },
    async delete(owner, name) {
      const key = prefix + blobPath(owner, name);
      await (await open()).delete(key);
    },
    async deleteAll(owner) {
      const folder = `${prefix}${folderOf(owner)}/`;
      const bucket = await open();
      for await (const page of bucket.list(folder))
        for (let at = 0; at < page.length; at += DELETIONS_AT_ONCE)
          await Promise.all(page.slice(at, at + DELETIONS_AT_ONCE).map(({ key }) => bucket.delete(key)));
    },
    async *oldBlobs(beforeMs) {
      const bucket = await open();
      for (const folder of ['media/', 'archive/'])
        for await (const page of bucket.list(prefix + folder)) {
          const old = page.filter(({ putMs }) => putMs < beforeMs).map(({ key }) => key.slice(prefix.length));
          for (const [owner, names] of byOwner(old)) yield { owner, names };
        }
    },
  };
}

/** Groups the paths of blobs by owner. Omits objects with other names, since the gateway did not store them. */
function byOwner(paths: readonly string[]): Map<BlobOwner, string[]> {
  const owners = new Map<BlobOwner, string[]>();
  for (const { owner, name } of paths.map(readBlobPath).filter((each) => each !== undefined))
    owners.set(owner, [...(owners.get(owner) ?? []), name]);
  return owners;
}
