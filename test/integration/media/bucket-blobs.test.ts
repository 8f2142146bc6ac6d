import { readdir, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeEach, expect } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import {
  type BlobStore,
  BlobStoreError,
  type Blobs,
  blobId,
  blobPath,
  DamagedBlobError,
  newBlobName,
} from '../../../worker/blob/blobs.ts';
import { openBucket } from '../../../worker/blob/bucket.ts';
import { openFolderStore } from '../../../worker/blob/folder-store.ts';
import { collected } from '../../fixture/archived-session.ts';
import { eachWithBucket, placeAt, s3, storeAt, testWithS3 } from '../../fixture/each-bucket.ts';
import { temporaryFolder } from '../../fixture/redis.ts';

const FILES = chatKey(-1001, 7);
const SESSION = 's-1' as SessionId;
const DAY_MS = 24 * 3_600_000;
const BYTES = Buffer.from('the bytes of a picture');
const ID = blobId(BYTES);
const NOWHERE = newBlobName(BYTES);
let store: BlobStore;
let blobs: Blobs;

eachWithBucket();
beforeEach(() => {
  if (s3 === undefined) return;
  store = storeAt(s3.url);
  blobs = store.blobsOf(0);
});

testWithS3('get returns every byte that was put, and nothing for an unknown id', async () => {
  for (const bytes of [BYTES, Buffer.alloc(0), Buffer.alloc(5_000_000, 7)])
    for (const owner of [FILES, SESSION] as const)
      expect((await blobs.get(owner, await blobs.put(owner, bytes)))?.equals(bytes)).toBe(true);
  expect(await blobs.get(FILES, NOWHERE)).toBeUndefined();
  expect(await blobs.get('s-2' as SessionId, await blobs.put(SESSION, BYTES))).toBeUndefined();
});

testWithS3('each put is an object of its own, below the prefix and its shard', async () => {
  const names = [await blobs.put(FILES, BYTES), await blobs.put(FILES, BYTES)].sort();
  const other = await store.blobsOf(1).put(SESSION, BYTES);
  const objects = [...names.map((name) => `blobs/0/${blobPath(FILES, name)}`), `blobs/1/${blobPath(SESSION, other)}`];
  expect(new Set(await s3.names())).toEqual(new Set(objects));
  expect(objects).toHaveLength(3);
});

testWithS3('no name leads out of the prefix', async () => {
  for (const id of ['../../../x', '', ID, NOWHERE.toUpperCase(), `${NOWHERE}/`])
    await expect((async () => blobs.get(FILES, id))()).rejects.toThrow(TypeError);
  for (const session of ['..', '', 'a/b', '.'])
    await expect((async () => blobs.deleteAll(session as SessionId))()).rejects.toThrow(TypeError);
});

testWithS3('bytes under a wrong name are reported as damaged', async () => {
  const bucket = openBucket(placeAt(s3.url));
  const other = Buffer.from('something else');
  await bucket.put(`blobs/0/${blobPath(FILES, NOWHERE)}`, other, blobId(other));
  await expect(blobs.get(FILES, NOWHERE)).rejects.toThrow(DamagedBlobError);
});

testWithS3('the server refuses bytes that are not those of their hash', async () => {
  const bucket = openBucket(placeAt(s3.url));
  await expect(bucket.put('blobs/x', BYTES, blobId(Buffer.from('other')))).rejects.toThrow(BlobStoreError);
  expect(await s3.names()).toEqual([]);
});

testWithS3('delete and deleteAll remove what they name, page by page, and may be repeated', async () => {
  const name = await blobs.put(FILES, BYTES);
  const other = await blobs.put('s-2' as SessionId, BYTES);
  for (let at = 0; at < 40; at++) await blobs.put(SESSION, Buffer.from(`segment ${at}`));
  for (let time = 0; time < 2; time++) {
    await blobs.delete(FILES, name);
    await blobs.deleteAll(SESSION);
  }
  expect(await s3.names()).toEqual([`blobs/0/${blobPath('s-2' as SessionId, other)}`]);
});

testWithS3('a listing goes on behind its first thousand', async () => {
  const bucket = openBucket(placeAt(s3.url));
  const objects = 1_050;
  const puts = Array.from({ length: objects }, (_, at) => `${ID}-${String(at).padStart(12, '0')}`);
  for (let at = 0; at < objects; at += 50)
    await Promise.all(puts.slice(at, at + 50).map((id) => bucket.put(`blobs/0/${blobPath(FILES, id)}`, BYTES, ID)));
  await s3.age(48);
  const found = await collected(blobs.oldBlobs(Date.now() - DAY_MS));
  expect(found.flatMap(({ names }) => names).sort()).toEqual(puts);
  expect(found.length).toBeGreaterThan(1);
});

testWithS3('oldBlobs names what was put before a time, with its owner, and no object of others', async () => {
  const [old, archived] = [await blobs.put(FILES, BYTES), await blobs.put(SESSION, Buffer.from('a segment'))];
  const bucket = openBucket(placeAt(s3.url));
  await bucket.put('blobs/0/media/readme.txt', BYTES, ID);
  await bucket.put(`blobs/0/archive/${NOWHERE}`, BYTES, ID);
  await bucket.put(`blobs/0/media/${NOWHERE}`, BYTES, ID);
  await s3.age(48);
  await blobs.put(FILES, Buffer.from('fresh'));
  expect(await collected(blobs.oldBlobs(Date.now() - DAY_MS))).toEqual([
    { owner: FILES, names: [old] },
    { owner: SESSION, names: [archived] },
  ]);
});

testWithS3('a bucket has one id, whoever asks first', async () => {
  expect(await store.readId()).toBeUndefined();
  const ids = await Promise.all(Array.from({ length: 8 }, () => storeAt(s3.url).id()));
  expect(new Set(ids).size).toBe(1);
  expect(await store.readId()).toBe(ids[0]);
});

testWithS3('a server that is gone is an error of the store, and a later call works again', async () => {
  const name = await blobs.put(FILES, BYTES);
  await s3.kill();
  for (const work of [() => blobs.get(FILES, name), () => blobs.put(FILES, BYTES), () => store.probe()])
    await expect(work()).rejects.toThrow(BlobStoreError);
  await s3.revive();
  expect(await blobs.get(FILES, name)).toEqual(BYTES);
});

testWithS3('an error names what the server said, and holds neither key nor signature', async () => {
  const missing = storeAt(s3.url.replace('spillway-test', 'no-such-bucket'));
  await expect(missing.blobsOf(0).get(FILES, NOWHERE)).rejects.toMatchObject({ code: 'NoSuchBucket' });
  process.env.AWS_SECRET_ACCESS_KEY = 'another-secret-that-is-wrong';
  const refused = await storeAt(s3.url)
    .probe()
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'BlobStoreError', code: 'SignatureDoesNotMatch' });
  const { message, cause, stack } = refused as Error;
  const told = JSON.stringify([message, stack, cause, Object.entries(cause as object), (cause as Error).stack]);
  expect(told).not.toMatch(/test-access-key|another-secret|Signature=/);
});

testWithS3(
  'what a folder holds is read from a bucket into which it was copied, and belongs to the same data',
  async () => {
    const folder = await temporaryFolder();
    const files = openFolderStore(folder);
    const id = await files.id();
    const name = await files.blobsOf(0).put(FILES, BYTES);
    const other = await files.blobsOf(1).put(SESSION, BYTES);
    const bucket = openBucket(placeAt(s3.url));
    for (const { parentPath, name } of (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
      (each) => each.isFile(),
    )) {
      const path = join(parentPath, name);
      const bytes = await readFile(path);
      await bucket.put(`blobs/${relative(folder, path)}`, bytes, blobId(bytes));
    }
    await rm(folder, { recursive: true });
    expect([await store.id(), await blobs.get(FILES, name), await store.blobsOf(1).get(SESSION, other)]).toEqual([
      id,
      BYTES,
      BYTES,
    ]);
  },
);
