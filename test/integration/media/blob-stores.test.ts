import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
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
const [SESSION, OTHER] = ['s-1', 's-2'] as [SessionId, SessionId];
const DAY_MS = 24 * 3_600_000;
const BYTES = Buffer.from('the bytes of a picture');
const ID = blobId(BYTES);
const NOWHERE = newBlobName(BYTES);

let folder: string;
let open: () => BlobStore;
let store: BlobStore;
let blobs: Blobs;
/** The names of all that is stored. */
let names: () => Promise<string[]>;
/** Makes all of it look as if it was put two days ago. */
let age: () => Promise<void>;

eachWithBucket();
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const filesIn = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
const mediaFile = (id: string) => join(folder, '0', blobPath(FILES, id));
const putInBucket = (name: string, bytes: Buffer, id = blobId(bytes)) =>
  openBucket(placeAt(s3.url)).put(`blobs/${name}`, bytes, id);

function inFolder(name: string, body: () => Promise<void>): void {
  test(`a folder: ${name}`, () => {
    open = () => openFolderStore(folder);
    store = open();
    blobs = store.blobsOf(0);
    names = async () => (await filesIn()).map((file) => relative(folder, file)).sort();
    age = async () => {
      const at = new Date(Date.now() - 2 * DAY_MS);
      for (const file of await filesIn()) await utimes(file, at, at);
    };
    return body();
  });
}

function inBucket(name: string, body: () => Promise<void>): void {
  testWithS3(`a bucket: ${name}`, () => {
    open = () => storeAt(s3.url);
    store = open();
    blobs = store.blobsOf(0);
    names = async () => (await s3.names()).map((object) => relative('blobs', object));
    age = () => s3.age(48);
    return body();
  });
}

function inBoth(name: string, body: () => Promise<void>): void {
  inFolder(name, body);
  inBucket(name, body);
}

inBoth('get returns every byte that was put, for a chat and for a session, and nothing for an unknown id', async () => {
  for (const bytes of [BYTES, Buffer.alloc(0), Buffer.alloc(5_000_000, 7)])
    for (const owner of [FILES, SESSION] as const)
      expect((await blobs.get(owner, await blobs.put(owner, bytes)))?.equals(bytes)).toBe(true);
  expect(await blobs.get(FILES, NOWHERE)).toBeUndefined();
  expect(await blobs.get(OTHER, await blobs.put(SESSION, BYTES))).toBeUndefined();
});

inBoth('each put has a name of its own that begins with its hash, below its shard', async () => {
  const own = [await blobs.put(FILES, BYTES), await blobs.put(FILES, BYTES)];
  const other = await store.blobsOf(1).put(SESSION, BYTES);
  expect([new Set(own).size, own.every((name) => name.startsWith(`${ID}-`))]).toEqual([2, true]);
  const all = [...own.map((name) => `0/${blobPath(FILES, name)}`), `1/${blobPath(SESSION, other)}`];
  expect(await names()).toEqual(all.sort());
});

inBoth('no name leads out of it', async () => {
  for (const id of ['../../../x', '', ID, NOWHERE.toUpperCase(), `${NOWHERE}/`, `${NOWHERE}\n`])
    await expect((async () => blobs.get(FILES, id))()).rejects.toThrow(TypeError);
  for (const session of ['..', '', 'a/b', '.']) {
    await expect((async () => blobs.put(session as SessionId, BYTES))()).rejects.toThrow(TypeError);
    await expect((async () => blobs.deleteAll(session as SessionId))()).rejects.toThrow(TypeError);
  }
});

inBoth('delete and deleteAll remove what they name, page by page, and may be repeated', async () => {
  const [name, same] = [await blobs.put(FILES, BYTES), await blobs.put(FILES, BYTES)];
  const other = await blobs.put(OTHER, BYTES);
  for (let at = 0; at < 40; at++) await blobs.put(SESSION, Buffer.from(`segment ${at}`));
  for (let time = 0; time < 2; time++) {
    await blobs.delete(FILES, name);
    await blobs.deleteAll(SESSION);
  }
  expect(await names()).toEqual([`0/${blobPath(OTHER, other)}`, `0/${blobPath(FILES, same)}`]);
});

inBoth('oldBlobs names what was put before a time, with its owner', async () => {
  const [old, archived] = [await blobs.put(FILES, BYTES), await blobs.put(SESSION, Buffer.from('a segment'))];
  await age();
  await blobs.put(FILES, Buffer.from('fresh'));
  expect(await collected(blobs.oldBlobs(Date.now() - DAY_MS))).toEqual([
    { owner: FILES, names: [old] },
    { owner: SESSION, names: [archived] },
  ]);
});

inBoth('it has one id, whoever asks first', async () => {
  expect(await store.readId()).toBeUndefined();
  const ids = await Promise.all(Array.from({ length: 8 }, () => open().id()));
  expect(ids).toEqual(Array(8).fill(await store.readId()));
  expect(await names()).toEqual(['store-id']);
});

inFolder('only its owner can read a blob, and what is damaged is reported', async () => {
  const file = mediaFile(await blobs.put(FILES, BYTES));
  expect([(await stat(file)).mode & 0o777, (await stat(join(folder, '0', 'media'))).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
  const flipped = Buffer.from(BYTES.map((byte, at) => (at === 3 ? byte ^ 1 : byte)));
  for (const bytes of [flipped, BYTES.subarray(0, 5), Buffer.alloc(0)]) {
    await writeFile(file, bytes);
    await expect(blobs.get(FILES, file.slice(-NOWHERE.length))).rejects.toThrow(DamagedBlobError);
  }
});

inFolder('oldBlobs removes what killed writes left, and empty folders, which a put makes again', async () => {
  const killed = dirname(mediaFile(NOWHERE));
  await mkdir(killed, { recursive: true });
  await writeFile(join(killed, '.part-x'), 'half of a fi');
  await blobs.delete(SESSION, await blobs.put(SESSION, BYTES));
  await age();
  await writeFile(join(killed, '.part-y'), 'being written');
  expect(await collected(blobs.oldBlobs(Date.now() - DAY_MS))).toEqual([]);
  expect(await names()).toEqual([relative(folder, join(killed, '.part-y'))]);
  expect((await readdir(folder, { recursive: true })).filter((path) => path.includes(SESSION))).toEqual([]);
  expect(await blobs.get(SESSION, await blobs.put(SESSION, BYTES))).toEqual(BYTES);
});

inFolder('one that cannot be written is an error of the store, and leaves nothing behind', async () => {
  // A file where a folder must be stops root too.
  const inTheWay = dirname(dirname(dirname(mediaFile(NOWHERE))));
  await mkdir(dirname(inTheWay), { recursive: true });
  await writeFile(inTheWay, '');
  await expect(blobs.put(FILES, BYTES)).rejects.toMatchObject({ name: 'BlobStoreError', code: 'ENOTDIR' });
  await expect(blobs.get(FILES, NOWHERE)).rejects.toThrow(BlobStoreError);
  await rm(inTheWay);
  expect(await names()).toEqual([]);
});

inBucket('bytes under a wrong name are reported as damaged, and not taken where the hash is another one', async () => {
  await expect(putInBucket('x', BYTES, blobId(Buffer.from('other')))).rejects.toThrow(BlobStoreError);
  expect(await names()).toEqual([]);
  await putInBucket(`0/${blobPath(FILES, NOWHERE)}`, Buffer.from('something else'));
  await expect(blobs.get(FILES, NOWHERE)).rejects.toThrow(DamagedBlobError);
});

inBucket('a listing goes on behind its first thousand, and names no object of others', async () => {
  const puts = Array.from({ length: 1_050 }, (_, at) => `${ID}-${String(at).padStart(12, '0')}`);
  for (let at = 0; at < puts.length; at += 50)
    await Promise.all(puts.slice(at, at + 50).map((id) => putInBucket(`0/${blobPath(FILES, id)}`, BYTES)));
  for (const strange of ['media/readme.txt', `archive/${NOWHERE}`, `media/${NOWHERE}`])
    await putInBucket(`0/${strange}`, BYTES);
  await age();
  const found = await collected(blobs.oldBlobs(Date.now() - DAY_MS));
  expect(found.flatMap((page) => page.names).sort()).toEqual(puts);
  expect(found.length).toBeGreaterThan(1);
});

inBucket('a server that is gone is an error of the store, and a later call works again', async () => {
  const name = await blobs.put(FILES, BYTES);
  await s3.kill();
  for (const work of [() => blobs.get(FILES, name), () => blobs.put(FILES, BYTES), () => store.probe()])
    await expect(work()).rejects.toThrow(BlobStoreError);
  await s3.revive();
  expect(await blobs.get(FILES, name)).toEqual(BYTES);
});

inBucket('an error names what the server said, and holds neither key nor signature', async () => {
  const missing = storeAt(s3.url.replace('spillway-test', 'no-such-bucket'));
  await expect(missing.blobsOf(0).get(FILES, NOWHERE)).rejects.toMatchObject({ code: 'NoSuchBucket' });
  process.env.AWS_SECRET_ACCESS_KEY = 'another-secret-that-is-wrong';
  const refused = await open()
    .probe()
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'BlobStoreError', code: 'SignatureDoesNotMatch' });
  const { message, cause, stack } = refused as Error;
  const told = JSON.stringify([message, stack, cause, Object.entries(cause as object), (cause as Error).stack]);
  expect(told).not.toMatch(/test-access-key|another-secret|Signature=/);
});

inBucket('what a folder holds is read from it once it was copied there, and belongs to the same data', async () => {
  const files = openFolderStore(folder);
  const id = await files.id();
  const name = await files.blobsOf(0).put(FILES, BYTES);
  const other = await files.blobsOf(1).put(SESSION, BYTES);
  for (const file of await filesIn()) await putInBucket(relative(folder, file), await readFile(file));
  const found = [await store.id(), await blobs.get(FILES, name), await store.blobsOf(1).get(SESSION, other)];
  expect(found).toEqual([id, BYTES, BYTES]);
});
