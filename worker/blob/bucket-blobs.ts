import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { blobName, folderOf, readBlobName } from './blob-name.ts';
import { type BlobOwner, type Blobs, blobId, DamagedBlobError } from './blobs.ts';
import type { Bucket, StoredObject } from './bucket.ts';

/** How the removal of an old blob and a put of the same bytes keep out of each other's way. Shorter in tests. */
export interface RemovalLimits {
  /** How long the server accepts a removal after it was signed. */
  signedSeconds: number;
  /** After this long no removal that was marked before can happen: the above, and clocks that differ. */
  doneMs: number;
  /** A put that lasted longer may have missed the mark of a removal. Marks are kept for much longer. */
  putMs: number;
}

const LIMITS: RemovalLimits = { signedSeconds: 30, doneMs: 150_000, putMs: 600_000 };
const MARK_KEPT_MS = 3_600_000;
const AT_ONCE = 16;

/**
 * Blobs as objects of a bucket, under the names that files of a folder have. The machines that use the bucket need the
 * server's clock, to about a minute.
 *
 * An object cannot be removed on the condition that nobody puts it again. So a removal is signed first, which lets the
 * server refuse it when it comes late, then marked by an object below `<prefix>dying/`, then checked, then done. Whoever
 * puts looks for marks afterwards, and puts again when a removal may have come in between.
 */
export function createBucketBlobs(open: () => Promise<Bucket>, prefix: string, limits = LIMITS): Blobs {
  const at = { open, prefix, limits };
  return {
    async put(owner, bytes) {
      const sha256 = blobId(bytes);
      await put(at, owner, sha256, bytes);
      return sha256;
    },
    async get(owner, sha256) {
      const key = prefix + blobName(owner, sha256);
      const bytes = await (await open()).get(key);
      if (bytes !== undefined && blobId(bytes) !== sha256) throw new DamagedBlobError(`blob ${sha256} is damaged`);
      return bytes;
    },
    async delete(owner, sha256) {
      const key = prefix + blobName(owner, sha256);
      await (await open()).delete(key);
    },
    async deleteAll(owner) {
      const folder = `${prefix}${folderOf(owner)}/`;
      const bucket = await open();
      for await (const page of bucket.list(folder)) await deleteAll(bucket, page);
    },
    oldBlobs: (beforeMs) => oldBlobs(at, beforeMs),
    deleteOld: (owner, sha256, beforeMs) => deleteOld(at, owner, sha256, beforeMs),
  };
}

interface ObjectPrefix {
  open: () => Promise<Bucket>;
  prefix: string;
  limits: RemovalLimits;
}

async function put(
  { open, prefix, limits }: ObjectPrefix,
  owner: BlobOwner,
  sha256: string,
  bytes: Buffer,
): Promise<void> {
  const name = blobName(owner, sha256);
  const bucket = await open();
  for (;;) {
    const sinceMs = Date.now();
    await bucket.put(prefix + name, bytes, sha256);
    const markMs = Math.max(0, ...(await listed(bucket, `${prefix}dying/${name}/`)).map(({ putMs }) => putMs));
    const doneMs = markMs + limits.doneMs;
    if (doneMs <= sinceMs && Date.now() - sinceMs <= limits.putMs) return;
    await pause(Math.max(0, doneMs - Date.now()));
  }
}

async function deleteOld(
  { open, prefix, limits }: ObjectPrefix,
  owner: BlobOwner,
  sha256: string,
  beforeMs: number,
): Promise<boolean> {
  const name = blobName(owner, sha256);
  const bucket = await open();
  const isOld = async () => {
    const found = (await listed(bucket, prefix + name)).find(({ key }) => key === prefix + name);
    return found !== undefined && found.putMs < beforeMs;
  };
  if (!(await isOld())) return false;
  const remove = await bucket.signDelete(prefix + name, limits.signedSeconds);
  const mark = Buffer.from(new Date().toISOString());
  await bucket.put(`${prefix}dying/${name}/${randomUUID()}`, mark, blobId(mark));
  return (await isOld()) && (await remove());
}

async function* oldBlobs(
  { open, prefix }: ObjectPrefix,
  beforeMs: number,
): AsyncGenerator<{ owner: BlobOwner; sha256s: string[] }> {
  const bucket = await open();
  for (const folder of ['media/', 'archive/']) {
    for await (const page of bucket.list(prefix + folder)) {
      const names = page.filter(({ putMs }) => putMs < beforeMs).map(({ key }) => key.slice(prefix.length));
      for (const [owner, sha256s] of byOwner(names)) yield { owner, sha256s };
    }
  }
  const markedMs = Math.min(beforeMs, Date.now() - MARK_KEPT_MS);
  for await (const page of bucket.list(`${prefix}dying/`))
    await deleteAll(
      bucket,
      page.filter(({ putMs }) => putMs < markedMs),
    );
}

/** Objects of other names are not ours, and stay. */
function byOwner(names: readonly string[]): Map<BlobOwner, string[]> {
  const owners = new Map<BlobOwner, string[]>();
  for (const { owner, sha256 } of names.map(readBlobName).filter((each) => each !== undefined))
    owners.set(owner, [...(owners.get(owner) ?? []), sha256]);
  return owners;
}

async function listed(bucket: Bucket, prefix: string): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for await (const page of bucket.list(prefix)) found.push(...page);
  return found;
}

async function deleteAll(bucket: Bucket, objects: readonly StoredObject[]): Promise<void> {
  for (let at = 0; at < objects.length; at += AT_ONCE)
    await Promise.all(objects.slice(at, at + AT_ONCE).map(({ key }) => bucket.delete(key)));
}
