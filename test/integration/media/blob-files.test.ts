import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import {
  BlobStoreError,
  type Blobs,
  blobId,
  blobPath,
  DamagedBlobError,
  newBlobName,
} from '../../../worker/blob/blobs.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { collected } from '../../fixture/archived-session.ts';
import { temporaryFolder } from '../../fixture/redis.ts';

const FILES = chatKey(-1001, 7);
const SESSION = 's-1' as SessionId;
const DAY_MS = 24 * 3_600_000;
const BYTES = Buffer.from('the bytes of a picture');
const NOWHERE = newBlobName(BYTES);

let root: string;
let blobs: Blobs;

beforeEach(async () => {
  root = await temporaryFolder();
  blobs = createFileBlobs(root);
});

afterEach(() => rm(root, { recursive: true, force: true }));

const mediaFile = (id: string) => join(root, blobPath(FILES, id));
const filesIn = async () =>
  (await readdir(root, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
const nameOf = async () => (await filesIn()).map(({ name }) => name);

/** Makes every file look as if it was put so long ago. */
async function aged(days = 2): Promise<void> {
  const at = new Date(Date.now() - days * DAY_MS);
  for (const { parentPath, name } of await filesIn()) await utimes(join(parentPath, name), at, at);
}

test('get returns every byte that was put, for the shard and for a session, and nothing for an unknown id', async () => {
  for (const bytes of [BYTES, Buffer.alloc(0), Buffer.alloc(5_000_000, 7)])
    for (const owner of [FILES, SESSION] as const)
      expect((await blobs.get(owner, await blobs.put(owner, bytes)))?.equals(bytes)).toBe(true);
  expect(await blobs.get(FILES, NOWHERE)).toBeUndefined();
  expect(await blobs.get('s-2' as SessionId, await blobs.put(SESSION, BYTES))).toBeUndefined();
});

test('each put is a file of its own under the hash and a new name, two folders deep, which only its owner can read', async () => {
  const names = [await blobs.put(FILES, BYTES), await blobs.put(FILES, BYTES)];
  expect(new Set(names).size).toBe(2);
  expect(names.every((name) => name.startsWith(`${blobId(BYTES)}-`))).toBe(true);
  expect((await nameOf()).toSorted()).toEqual(names.toSorted());
  const [name = ''] = names;
  expect(await readFile(mediaFile(name))).toEqual(BYTES);
  expect([(await stat(mediaFile(name))).mode & 0o777, (await stat(join(root, 'media'))).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
});

test('no name leads out of the folder', async () => {
  for (const id of ['../../../x', '', blobId(BYTES), NOWHERE.toUpperCase(), `${NOWHERE}/`, `${NOWHERE}\n`])
    await expect((async () => blobs.get(FILES, id))()).rejects.toThrow(TypeError);
  for (const session of ['..', '', 'a/b', '.']) {
    await expect((async () => blobs.put(session as SessionId, BYTES))()).rejects.toThrow(TypeError);
    await expect((async () => blobs.deleteAll(session as SessionId))()).rejects.toThrow(TypeError);
  }
});

test.each([
  ['a changed byte', (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 3 ? byte ^ 1 : byte)))],
  ['a missing end', (bytes: Buffer) => bytes.subarray(0, 5)],
  ['nothing in it', () => Buffer.alloc(0)],
])('a file with %s is reported as damaged', async (_what, damage) => {
  const name = await blobs.put(FILES, BYTES);
  await writeFile(mediaFile(name), damage(BYTES));
  await expect(blobs.get(FILES, name)).rejects.toThrow(DamagedBlobError);
});

test('delete and deleteAll remove what they name and may be repeated', async () => {
  const [name, same] = [await blobs.put(FILES, BYTES), await blobs.put(FILES, BYTES)];
  const owners = [SESSION, 's-2' as SessionId];
  const [own = '', others = ''] = await Promise.all(owners.map((owner) => blobs.put(owner, BYTES)));
  for (let time = 0; time < 2; time++) {
    await blobs.delete(FILES, name);
    await blobs.deleteAll(SESSION);
  }
  expect(await blobs.get(FILES, name)).toBeUndefined();
  expect(await blobs.get(FILES, same)).toEqual(BYTES);
  expect(await blobs.get(SESSION, own)).toBeUndefined();
  expect(await blobs.get('s-2' as SessionId, others)).toEqual(BYTES);
});

test('oldBlobs names what was put before a time, with its owner, and removes what killed writes left', async () => {
  const [old, archived] = [await blobs.put(FILES, BYTES), await blobs.put(SESSION, Buffer.from('a segment'))];
  await writeFile(join(dirname(mediaFile(old)), '.part-x'), 'half of a fi');
  await aged();
  const fresh = await blobs.put(FILES, Buffer.from('fresh'));
  await writeFile(join(dirname(mediaFile(fresh)), '.part-y'), 'being written');
  const found = await collected(blobs.oldBlobs(Date.now() - DAY_MS));
  expect(found.toSorted((one, other) => one.owner.localeCompare(other.owner))).toEqual([
    { owner: FILES, names: [old] },
    { owner: SESSION, names: [archived] },
  ]);
  expect((await nameOf()).toSorted()).toEqual(['.part-y', old, archived, fresh].toSorted());
  expect(await collected(createFileBlobs(join(root, 'nothing')).oldBlobs(Date.now()))).toEqual([]);
});

test('the folder of a session is removed once it is empty, and a put makes it again', async () => {
  await blobs.delete(SESSION, await blobs.put(SESSION, BYTES));
  await collected(blobs.oldBlobs(Date.now()));
  expect(await readdir(root, { recursive: true }).then((all) => all.some((path) => path.includes(SESSION)))).toBe(
    false,
  );
  expect(await blobs.get(SESSION, await blobs.put(SESSION, BYTES))).toEqual(BYTES);
});

test('a folder that cannot be written is an error of the store, and leaves nothing behind', async () => {
  // A file where a folder must be stops root too.
  const inTheWay = dirname(dirname(dirname(mediaFile(NOWHERE))));
  await mkdir(join(root, 'media'));
  await writeFile(inTheWay, '');
  await expect(blobs.put(FILES, BYTES)).rejects.toMatchObject({ name: 'BlobStoreError', code: 'ENOTDIR' });
  await expect(blobs.get(FILES, NOWHERE)).rejects.toThrow(BlobStoreError);
  await rm(inTheWay);
  expect(await nameOf()).toEqual([]);
  const name = await blobs.put(FILES, BYTES);
  expect(await nameOf()).toEqual([name]);
});
