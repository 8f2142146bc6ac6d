import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { blobName } from '../../../worker/blob/blob-name.ts';
import { BlobStoreError, type Blobs, blobId, DamagedBlobError } from '../../../worker/blob/blobs.ts';
import { createFileBlobs } from '../../../worker/blob/files.ts';
import { collected } from '../../fixture/archived-session.ts';
import { temporaryFolder } from '../../fixture/redis.ts';

const FILES = chatKey(-1001, 7);
const SESSION = 's-1' as SessionId;
const DAY_MS = 24 * 3_600_000;
const BYTES = Buffer.from('the bytes of a picture');
const ID = blobId(BYTES);

let root: string;
let blobs: Blobs;

beforeEach(async () => {
  root = await temporaryFolder();
  blobs = createFileBlobs(root);
});

afterEach(() => rm(root, { recursive: true, force: true }));

const mediaFile = (id: string) => join(root, blobName(FILES, id));
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
  expect(await blobs.get(FILES, 'f'.repeat(64))).toBeUndefined();
  expect(await blobs.get('s-2' as SessionId, ID)).toBeUndefined();
});

test('a blob is one file under its hash, two folders deep, which only its owner can read', async () => {
  expect(await blobs.put(FILES, BYTES)).toBe(ID);
  expect(await blobs.put(FILES, BYTES)).toBe(ID);
  expect(await nameOf()).toEqual([ID]);
  expect(await readFile(mediaFile(ID))).toEqual(BYTES);
  expect([(await stat(mediaFile(ID))).mode & 0o777, (await stat(join(root, 'media'))).mode & 0o777]).toEqual([
    0o600, 0o700,
  ]);
});

test('no name leads out of the folder', async () => {
  for (const id of ['../../../x', '', ID.toUpperCase(), `${ID}/`])
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
])('a file with %s is reported as damaged, and the next put heals it', async (_what, damage) => {
  await blobs.put(FILES, BYTES);
  await writeFile(mediaFile(ID), damage(BYTES));
  await expect(blobs.get(FILES, ID)).rejects.toThrow(DamagedBlobError);
  await blobs.put(FILES, BYTES);
  expect(await blobs.get(FILES, ID)).toEqual(BYTES);
});

test('delete and deleteAll remove what they name and may be repeated', async () => {
  await blobs.put(FILES, BYTES);
  await blobs.put(SESSION, BYTES);
  await blobs.put('s-2' as SessionId, BYTES);
  for (let time = 0; time < 2; time++) {
    await blobs.delete(FILES, ID);
    await blobs.deleteAll(SESSION);
  }
  expect(await blobs.get(FILES, ID)).toBeUndefined();
  expect(await blobs.get(SESSION, ID)).toBeUndefined();
  expect(await blobs.get('s-2' as SessionId, ID)).toEqual(BYTES);
});

test('oldBlobs names what was put before a time, with its owner, and removes what killed writes left', async () => {
  const [old, archived] = [await blobs.put(FILES, BYTES), await blobs.put(SESSION, Buffer.from('a segment'))];
  await writeFile(join(dirname(mediaFile(ID)), '.part-x'), 'half of a fi');
  await aged();
  const fresh = await blobs.put(FILES, Buffer.from('fresh'));
  await writeFile(join(dirname(mediaFile(fresh)), '.part-y'), 'being written');
  const found = await collected(blobs.oldBlobs(Date.now() - DAY_MS));
  expect(found.toSorted((one, other) => one.owner.localeCompare(other.owner))).toEqual([
    { owner: FILES, sha256s: [old] },
    { owner: SESSION, sha256s: [archived] },
  ]);
  expect((await nameOf()).toSorted()).toEqual(['.part-y', old, archived, fresh].toSorted());
  expect(await collected(createFileBlobs(join(root, 'nothing')).oldBlobs(Date.now()))).toEqual([]);
});

test('the folder of a session is removed once it is empty, and a put makes it again', async () => {
  await blobs.put(SESSION, BYTES);
  await aged();
  expect(await blobs.deleteOld(SESSION, ID, Date.now() - DAY_MS)).toBe(true);
  await collected(blobs.oldBlobs(Date.now()));
  expect(await readdir(root, { recursive: true }).then((all) => all.some((path) => path.includes(SESSION)))).toBe(
    false,
  );
  await blobs.put(SESSION, BYTES);
  expect(await blobs.get(SESSION, ID)).toEqual(BYTES);
});

test('deleteOld removes an old blob once, and none that was put again', async () => {
  await blobs.put(FILES, BYTES);
  await aged();
  await blobs.put(FILES, BYTES);
  expect(await blobs.deleteOld(FILES, ID, Date.now() - DAY_MS)).toBe(false);
  expect(await blobs.get(FILES, ID)).toEqual(BYTES);
  await aged();
  const both = await Promise.all([1, 2].map(() => blobs.deleteOld(FILES, ID, Date.now() - DAY_MS)));
  expect(both.filter(Boolean)).toHaveLength(1);
  expect(await nameOf()).toEqual([]);
});

test('what is put at the moment when the old one is removed is there afterwards, in 600 tries', async () => {
  await blobs.put(FILES, BYTES);
  // The removal begins ever closer to the end of the put.
  let turns = 0;
  for (let time = 0; time < 600; time++) {
    await aged();
    const beforeMs = Date.now() - DAY_MS;
    let isPut = false;
    const put = blobs.put(FILES, BYTES).finally(() => {
      isPut = true;
    });
    for (let turn = 0; turn < turns && !isPut; turn++) await nextTurn();
    turns += isPut ? -2 : 1;
    await Promise.all([put, blobs.deleteOld(FILES, ID, beforeMs), blobs.deleteOld(FILES, ID, beforeMs)]);
    expect([time, await blobs.get(FILES, ID)]).toEqual([time, BYTES]);
  }
});

test('a blob whose removal was interrupted is a blob again', async () => {
  await blobs.put(FILES, BYTES);
  const folder = dirname(mediaFile(ID));
  await writeFile(join(folder, `.dying-1-${ID}`), BYTES);
  await rm(mediaFile(ID));
  await aged();
  // Whoever renamed it a moment ago may still be at work.
  await collected(blobs.oldBlobs(Date.now() - DAY_MS));
  expect(await blobs.get(FILES, ID)).toBeUndefined();
  await collected(blobs.oldBlobs(Date.now() + DAY_MS));
  expect(await blobs.get(FILES, ID)).toEqual(BYTES);
});

test('a folder that cannot be written is an error of the store, and leaves nothing behind', async () => {
  // A file where a folder must be stops root too.
  const inTheWay = dirname(dirname(dirname(mediaFile(ID))));
  await mkdir(join(root, 'media'));
  await writeFile(inTheWay, '');
  await expect(blobs.put(FILES, BYTES)).rejects.toMatchObject({ name: 'BlobStoreError', code: 'ENOTDIR' });
  await expect(blobs.get(FILES, ID)).rejects.toThrow(BlobStoreError);
  await rm(inTheWay);
  await blobs.put(FILES, BYTES);
  expect(await nameOf()).toEqual([ID]);
});
