import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { saidIn } from '../fixture/asked.ts';
import { runCli } from '../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, start, takeOver, world } from '../fixture/each-test.ts';
import { jpegPhoto } from '../fixture/files.ts';
import { nextOutcome, settledOutcomes } from '../fixture/ledger.ts';
import { spawnGateway } from '../fixture/process.ts';
import type { Block } from '../stand-in/claude/request.ts';

const PATIENCE_MS = 25_000;
/** Two pieces as an app cuts them, and the end. */
const PASTED = [`A${'a'.repeat(4_000)}`, `B${'b'.repeat(4_000)}`, 'the end'];

let photo: Buffer;

eachInWorld();

beforeEach(async () => {
  photo = await jpegPhoto(300, 200);
});

function sendAlbum(captions: readonly string[]): void {
  for (const [at, caption] of captions.entries()) {
    const id = world.telegram.addFile(photo, `photos/${at}.jpg`);
    const sizes = [{ file_id: id, file_unique_id: id, width: 300, height: 200, file_size: photo.length }];
    const extra = { photo: sizes, media_group_id: 'album-1', ...(caption !== '' && { caption }) };
    world.telegram.say(CHAT, '', { extra });
  }
}

function sendPasted(): void {
  for (const text of PASTED) world.telegram.say(CHAT, text);
}

async function outcomes(): Promise<string[]> {
  const settled = await settledOutcomes(world);
  const first = settled[0]?.entry;
  return settled.map(({ outcome, into }) => (into === undefined ? outcome : `${outcome} ${into === first}`));
}

const asked = (): Block[] => saidIn(mainCalls().at(-1));

test('an album is one message: the model sees all of it with the caption last, and the user has one answer', async () => {
  await start();
  sendAlbum(['Which one is sharper?', '', '']);
  world.telegram.say(CHAT, 'and this is another question');
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ outcome: 'answered' });
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true', 'answered']);
  const [first] = mainCalls();
  const sent = saidIn(first);
  expect(sent.map(({ type }) => type)).toEqual(['image', 'image', 'image', 'text']);
  expect(first?.pendingText).toBe('Which one is sharper?');
  expect(world.telegram.shown(CHAT)).toHaveLength(2);
  expect(world.claude.violations()).toEqual([]);
});

test('a text that an app cut into pieces is merged into one message', async () => {
  await start();
  sendPasted();
  expect(await nextOutcome(world, CHAT, 3)).toMatchObject({ outcome: 'merged' });
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true']);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n')]);
});

test('waits for pieces that come one by one and merges them', async () => {
  await start();
  for (const text of PASTED) {
    world.telegram.say(CHAT, text);
    // The first is taken up, sees what is there, and waits.
    while ((await world.peek.zcard('{sw:0}:turns:delayed')) === 0) await pause(5);
  }
  expect(await nextOutcome(world, CHAT, 3)).toMatchObject({ outcome: 'merged' });
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n')]);
});

test('a piece that comes after the model was called is a separate message', async () => {
  await start();
  world.telegram.say(CHAT, PASTED[0] ?? '');
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  world.telegram.say(CHAT, 'the end');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED[0], 'the end']);
});

test.each<[Failpoint, number]>([
  ['model called', 1],
  ['answer stored', 1],
  ['settled', 1],
  ['settled', 2],
])('killed at "%s" (%i): an album has one answer, and each piece its outcome', async (step, nth) => {
  const victim = await spawnGateway(world, { SPILLWAY_FAIL_AT: `${step}:${nth}` });
  sendAlbum(['What is this?', '']);
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT, 2, PATIENCE_MS);
  expect(await outcomes()).toEqual(['answered', 'merged true']);
  expect(asked().map(({ type }) => type)).toEqual(['image', 'image', 'text']);
  expect(world.telegram.shown(CHAT).filter(({ text }) => text !== '…')).toHaveLength(1);
});

test('after an overflow all pieces are sent again', async () => {
  world.claude.react(({ kind }) => (kind === 'main' && mainCalls().length === 1 ? { do: 'overflow' } : undefined));
  await start();
  sendPasted();
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true']);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n'), PASTED.join('\n')]);
});

test('a piece whose file is temporarily unavailable keeps its place, and no other file is downloaded again', async () => {
  await start();
  let asks = 0;
  world.telegram.fail('getFile', { status: 500, description: 'Internal Server Error' }, 1, () => ++asks === 2);
  sendAlbum(['What is this?', '']);
  await nextOutcome(world, CHAT, 2);
  expect(await outcomes()).toEqual(['answered', 'merged true']);
  expect(asked().map(({ type }) => type)).toEqual(['image', 'image', 'text']);
  expect(world.telegram.calls.filter(({ method }) => method === 'getFile')).toHaveLength(3);
});

test('/stop cancels an album as one message', async () => {
  world.claude.react(() => ({ do: 'hang' }));
  await start();
  sendAlbum(['What is this?', '']);
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  world.telegram.say(CHAT, '/stop');
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['cancelled', 'merged true', 'command']);
});

test('a failed album gets one notice and a dead letter per piece, and is merged again when it is replayed', async () => {
  let isRefused = true;
  world.claude.react(() =>
    isRefused ? { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' } : undefined,
  );
  await start();
  sendAlbum(['What is this?', '']);
  await nextOutcome(world, CHAT, 2);
  expect(await outcomes()).toEqual(['failed', 'failed true']);
  expect(world.telegram.shown(CHAT)).toHaveLength(1);
  isRefused = false;
  const replayed = await runCli(['dead', 'replay', '--all', '--json'], world.env);
  expect(JSON.parse(replayed.stdout)).toMatchObject({ replayed: 2 });
  await nextOutcome(world, CHAT, 4);
  expect((await settledOutcomes(world)).slice(2).map(({ outcome }) => outcome)).toEqual(['answered', 'merged']);
  // What failed stands before it in the conversation.
  expect(asked().map(({ type }) => type)).toEqual(['image', 'image', 'text', 'image', 'image', 'text']);
});
