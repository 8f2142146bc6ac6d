import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { sweep } from '../../../worker/blob/orphan-sweep.ts';
import { packSegment } from '../../../worker/session/archive.ts';
import { linesOf, said } from '../../fixture/archived-session.ts';
import { saidIn } from '../../fixture/asked.ts';
import { runCli } from '../../fixture/cli.ts';
import {
  CHAT,
  eachInWorld,
  killAt,
  mainCalls,
  shown,
  spawn,
  start,
  stopGateways,
  takeOver,
  world,
} from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { ask, givenLines, photoOf, sendPhoto, sessionOf } from '../../fixture/whole-chat.ts';

/** The keeper of a test is at work all the time, but believes that nothing is an orphan. */
const OFTEN = { blobEveryMs: 50 };

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const source = () => ({ redis: world.peek, keys: world.keys, blobs: world.blobs });
const blobFiles = async () =>
  (await readdir(world.blobFolder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((each) => each.isFile() && each.name !== 'store-id')
    .map(({ parentPath, name }) => join(parentPath, name));
/** The picture in a request that the model got: its bytes, or the text that stands for it. */
const pictureIn = (at: number) => {
  const [first] = saidIn(mainCalls()[at], 0);
  return first?.source ?? first?.text;
};
/** Sweeps as if all blobs were old, and returns how many nothing pointed at. */
const orphans = () => sweep(source(), Date.now() + 60_000, new AbortController().signal);
const cli = (...args: string[]) => runCli(args, world.env);

async function saySecond(): Promise<void> {
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
}

test('the bytes of a picture are a file and not in Redis, and another process shows the model the same picture', async () => {
  await spawn();
  expect(await sendPhoto(await jpegPhoto(900, 600))).toMatchObject({ outcome: 'answered' });
  await stopGateways();
  await takeOver();
  await saySecond();
  expect(pictureIn(1)).toEqual(pictureIn(0));
  expect(pictureIn(0)).toMatchObject({ type: 'base64', media_type: 'image/jpeg' });
  expect(await blobFiles()).toHaveLength(1);
  expect(await world.peek.keys('*:media:*')).toEqual([]);
  const [pointer = ''] = await world.peek.keys('*:blob:*');
  expect(await world.peek.memory('USAGE', pointer)).toBeLessThan(250);
});

test('killed between the bytes and their pointer: one answer with the picture, and the orphan is removed', async () => {
  const photo = await jpegPhoto(300, 200);
  const expectOrphan = async () => {
    expect(await blobFiles()).toHaveLength(1);
    expect(await world.peek.keys('*:blob:*')).toEqual([]);
  };
  await killAt('file stored:1', () => world.telegram.say(CHAT, '', { extra: photoOf(photo) }), expectOrphan);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(pictureIn(0)).toMatchObject({ type: 'base64' });
  expect(await orphans()).toBe(1);
  expect(await blobFiles()).toHaveLength(1);
  expect(await settledOutcomes(world)).toHaveLength(1);
});

test.each([
  ['damaged', (file: string) => writeFile(file, 'not the picture')],
  ['missing', (file: string) => rm(file)],
])('a %s file is a line in brackets for the model, and the chat goes on', async (_state, hurt) => {
  await start();
  await sendPhoto(await jpegPhoto(300, 200));
  await hurt((await blobFiles())[0] ?? '');
  await saySecond();
  expect(pictureIn(mainCalls().length - 1)).toMatch(/^\[image\/jpeg, .*: no longer stored\]$/);
});

test('a segment that is missing or damaged is reported by an export, which holds all the rest', async () => {
  const session = await givenLines(conversation(1_000, 1_000));
  await world.peek.hset(world.keys.session(session), 'windowStart', 2_000);
  await world.peek.sadd(world.keys.archivable, session);
  await start({}, { archiveEveryMs: 20 });
  await until('archived', async () =>
    (await world.peek.sismember(world.keys.archivable, session)) === 0 ? true : undefined,
  );
  const [one = '', other = ''] = await blobFiles();
  const segments = await world.peek.llen(world.keys.archive(session));
  expect(segments).toBeGreaterThan(2);
  await rm(one);
  await writeFile(other, 'no segment');
  const exported = await cli('session', 'export', String(CHAT));
  expect(exported.code).toBe(0);
  expect(exported.stderr.match(/segment \d+ of the archive is damaged/g)).toHaveLength(2);
  expect(exported.stdout.split('\n').length).toBeGreaterThan(500);
});

test('a store that is not a folder: the picture waits, the operator is told, and it is answered when it is mended', async () => {
  await writeFile(join(world.blobFolder, '0'), '');
  await start();
  world.telegram.say(CHAT, '', { extra: photoOf(await jpegPhoto(900, 600)) });
  await world.telegram.waitForText(ALERT_CHAT, /blob store \(BLOB_URL\) fails for .* \(ENOTDIR\)/);
  expect(await settledOutcomes(world)).toEqual([]);
  const another = CHAT + 1;
  expect(await ask('Texts are answered', 1, another)).toMatchObject({ outcome: 'answered' });
  await rm(join(world.blobFolder, '0'));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(pictureIn(mainCalls().length - 1)).toMatchObject({ type: 'base64' });
});

test('/forget erases the files of the chat and of its archives, and another chat keeps its own', async () => {
  await givenLines(conversation(1_000, 1_000));
  await start({}, { archiveEveryMs: 20 });
  await sendPhoto(await jpegPhoto(300, 200));
  await ask('/new', 2);
  await sendPhoto(await jpegPhoto(310, 200), 3);
  await until('archived', async () => ((await world.peek.scard(world.keys.archivable)) === 0 ? true : undefined));
  expect((await blobFiles()).length).toBeGreaterThan(3);
  const others = await world.blobs.put(chatKey(66), Buffer.from('of another chat'));
  await ask('/forget yes', 4);
  expect(shown().at(-1)).toBe(EN.forgotten);
  expect((await blobFiles()).map((file) => basename(file))).toEqual([others]);
  for (const key of ['*:blob:*', '*:archive:*']) expect(await world.peek.keys(key)).toEqual([]);
});

test('with redis: all bytes are in Redis; with a folder from then on they stay there, and the model sees the same picture', async () => {
  await start({ BLOB_URL: 'redis:' });
  await sendPhoto(await jpegPhoto(300, 200));
  expect(await world.peek.keys('*:media:*')).toHaveLength(1);
  expect([await world.peek.keys('*:blob*'), await readdir(world.blobFolder)]).toEqual([[], []]);
  await stopGateways();
  const session = await sessionOf();
  await world.peek.rpush(world.keys.archive(session), await packSegment([Buffer.from(said(1))]));
  await start({ BLOB_URL: `file://${world.blobFolder}` }, OFTEN);
  await saySecond();
  expect(pictureIn(1)).toEqual(pictureIn(0));
  expect((await linesOf(source(), session)).map(String)).toContain(said(1));
});

test('a worker with another folder alerts, answers, and check names it; the folder of the data passes', async () => {
  await start();
  await until('bound', async () => ((await world.peek.exists(world.keys.blobStore)) === 1 ? true : undefined));
  expect(await cli('check')).toMatchObject({ stdout: expect.stringMatching(/^ok {4} blobs: .*, takes files; /m) });
  await stopGateways();
  const own = world.env.BLOB_URL ?? '';
  Object.assign(world.env, { BLOB_URL: `file://${await temporaryFolder()}` });
  await start();
  await world.telegram.waitForText(ALERT_CHAT, /is not that of the other processes/);
  expect(await ask('hello')).toMatchObject({ outcome: 'answered' });
  const check = await cli('check');
  expect(check.stdout).toMatch(/^FAILED blobs: .*: it is not the store that the data in Redis refers to/m);
  expect(check.code).toBe(1);
  await rm((world.env.BLOB_URL ?? '').slice('file://'.length), { recursive: true });
  Object.assign(world.env, { BLOB_URL: 'redis:' });
  expect((await cli('check')).stdout).toMatch(/^FAILED blobs: kept in Redis, but the data refers to a store/m);
  Object.assign(world.env, { BLOB_URL: own });
});

test('check makes no folder, which would belong to somebody else than the gateway, and fails where it cannot be made', async () => {
  world.env.BLOB_URL = `file://${join(world.blobFolder, 'later', 'blobs')}`;
  expect((await cli('check')).stdout).toMatch(/^ok {4} blobs: .*, is made at the first start; /m);
  expect(await readdir(world.blobFolder)).toEqual([]);
  await writeFile(join(world.blobFolder, 'later'), '');
  expect((await cli('check')).stdout).toMatch(/^FAILED blobs: .*(?:EEXIST|ENOTDIR)/m);
});

test('a folder that was moved with its mark is still the store of the data', async () => {
  await start();
  await sendPhoto(await jpegPhoto(300, 200));
  await stopGateways();
  const moved = join(await temporaryFolder(), 'blobs');
  await rename(world.blobFolder, moved);
  await mkdir(world.blobFolder);
  await start({ BLOB_URL: `file://${moved}` }, OFTEN);
  await saySecond();
  expect(pictureIn(1)).toEqual(pictureIn(0));
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  await stopGateways();
  await rm(moved, { recursive: true });
});
