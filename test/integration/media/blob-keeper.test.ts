import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { createBinding } from '../../../shared/state/blob/binding.ts';
import type { Blobs } from '../../../worker/blob/blobs.ts';
import { createFileBlobs, openFolderStore } from '../../../worker/blob/folder-store.ts';
import { type BlobTrouble, startBlobKeeper, sweep } from '../../../worker/blob/orphan-sweep.ts';
import type { Limits } from '../../../worker/limits.ts';
import { createMediaStore } from '../../../worker/media/store.ts';
import { archiveSession, createArchive } from '../../../worker/session/archive.ts';
import { filler, givenLog, linesOf, said } from '../../fixture/archived-session.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';

const CHAT = chatKey(-1001, 7);
const SESSION = 's-1' as SessionId;
const ENDLESS = new AbortController().signal;
const HOUR_MS = 3_600_000;

let folder: string;
let blobs: Blobs;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  folder = await temporaryFolder();
  blobs = createFileBlobs(join(folder, '0'));
  stops = [];
});

afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await rm(folder, { recursive: true, force: true });
});
eachWithRedis();

const media = () => createMediaStore({ redis, keys, blobs, retentionDays: 90 });
const source = () => ({ redis, keys, blobs });
const filesIn = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
const blobNames = async () => (await filesIn()).map(({ name }) => name).filter((name) => name !== 'store-id');

/** Makes every file look as if it was put so long ago. */
async function aged(hours = 2): Promise<void> {
  const at = new Date(Date.now() - hours * HOUR_MS);
  for (const { parentPath, name } of await filesIn()) await utimes(join(parentPath, name), at, at);
}

async function bound(): Promise<void> {
  await createBinding(redis, openFolderStore(folder).id)();
}

function keeper(limits: Partial<Limits> = {}, onTrouble: (trouble: BlobTrouble) => void = () => {}) {
  const all = { blobEveryMs: 20, orphanMs: HOUR_MS, boundMs: 0, ...limits };
  const log = createLogger('silent');
  const storeId = openFolderStore(folder).id;
  const service = startBlobKeeper({ redis, keys, blobs, log, storeId, limits: all, onTrouble });
  stops.push(() => service.stop());
}

test('the sweep removes what nothing points at and is old, and nothing else', async () => {
  await bound();
  const kept = await media().keep(CHAT, Buffer.from('kept'));
  const expired = await media().keep(CHAT, Buffer.from('expired'));
  await redis.del(keys.blob(expired, CHAT));
  await givenLog(redis, keys, SESSION, { lines: [said(1), filler()], about: { windowStart: 1 } });
  await archiveSession(createArchive(source(), 1_000), SESSION, ENDLESS);
  await blobs.put(SESSION, Buffer.from('an orphan of a killed archivist'));
  await blobs.put('s-gone' as SessionId, Buffer.from('a segment whose archive has expired'));
  await aged();
  const young = await blobs.put(CHAT, Buffer.from('its pointer may be on its way'));
  // Several at once remove what one would.
  await Promise.all([1, 2, 3].map(() => sweep({ redis, keys, blobs }, Date.now() - HOUR_MS, ENDLESS)));
  expect((await blobNames()).length).toBe(3);
  expect([...(await media().load(CHAT, [kept, expired])).keys()]).toEqual([kept]);
  expect(await blobs.get(CHAT, young)).toBeDefined();
  expect(await linesOf(source(), SESSION)).toHaveLength(2);
});

test('what is kept again while the sweep removes what expired has a blob of its own, and is there afterwards', async () => {
  await bound();
  const bytes = Buffer.from('sent again');
  const id = await media().keep(CHAT, bytes);
  await aged();
  await redis.del(keys.blob(id, CHAT));
  const late: Blobs = {
    ...blobs,
    async delete(owner, name) {
      // It has looked for the last time; however long it stands still now, it takes nothing that is put meanwhile.
      await media().keep(CHAT, bytes);
      await blobs.delete(owner, name);
    },
  };
  expect(await sweep({ redis, keys, blobs: late }, Date.now() - HOUR_MS, ENDLESS)).toBe(1);
  expect((await media().load(CHAT, [id])).get(id)).toEqual(bytes);
});

test('what is kept again heals a damaged blob, keeps a sound one, and cuts no time short', async () => {
  const bytes = Buffer.from('sent again');
  const id = await media().keep(CHAT, bytes);
  const [sound = ''] = await blobNames();
  await media().keep(CHAT, bytes, 60);
  expect(await blobNames()).toEqual([sound]);
  for (const { parentPath, name } of await filesIn()) await writeFile(join(parentPath, name), 'damaged');
  expect((await media().load(CHAT, [id])).size).toBe(0);
  await media().keep(CHAT, bytes, 60);
  expect(await redis.ttl(keys.blob(id, CHAT))).toBeGreaterThan(60);
  expect((await media().load(CHAT, [id])).get(id)).toEqual(bytes);
  expect(await redis.get(keys.blob(id, CHAT))).not.toBe(sound);
});

test('a Redis that was emptied makes nothing an orphan', async () => {
  await bound();
  await media().keep(CHAT, Buffer.from('a file'));
  await aged();
  await redis.flushall();
  expect(await sweep({ redis, keys, blobs }, Date.now() - HOUR_MS, ENDLESS)).toBe(0);
  // A process that starts now binds this Redis to the store, and waits before it believes that nothing is needed.
  keeper({ boundMs: HOUR_MS });
  await until('binding', async () => ((await redis.exists(keys.blobStore)) === 1 ? true : undefined));
  await until('pass', async () => ((await redis.exists(keys.blobPass)) === 1 ? true : undefined));
  expect(await blobNames()).toHaveLength(1);
  keeper();
  await until('sweep', async () => ((await blobNames()).length === 0 ? true : undefined));
});

test('a process with another folder removes nothing, and says so each time', async () => {
  await createBinding(redis, openFolderStore(await temporaryFolder()).id)();
  await blobs.put(CHAT, Buffer.from('no orphan for all it knows'));
  await aged();
  const troubles: BlobTrouble[] = [];
  keeper({}, (trouble) => troubles.push(trouble));
  await until('second round', () => troubles[1]);
  expect(troubles[0]).toBe('other store');
  expect(await blobNames()).toHaveLength(1);
});
