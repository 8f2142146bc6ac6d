import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import type { EntryId } from '../../../shared/redis/keys.ts';
import { saidIn } from '../../fixture/asked.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, start, stopGateways, trouble, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, photoOf } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

/** Two pieces as an app cuts them, and the end. */
const PASTED = [`A${'a'.repeat(4_000)}`, `B${'b'.repeat(4_000)}`, 'the end'];

let photo: Buffer;

eachInWorld();

beforeEach(async () => {
  photo = await jpegPhoto(300, 200);
});

function sendAlbum(captions: readonly string[]): void {
  for (const caption of captions)
    world.telegram.say(CHAT, '', { extra: { ...photoOf(photo, caption || undefined), media_group_id: 'album-1' } });
}

function sendPasted(): void {
  for (const text of PASTED) world.telegram.say(CHAT, text);
}

async function outcomes(): Promise<string[]> {
  const settled = await settledOutcomes(world);
  const first = settled[0]?.entry;
  return settled.map(({ outcome, into }) => (into === undefined ? outcome : `${outcome} ${into === first}`));
}

test('an album is one message, also where a file is away for a moment: all of it with the caption last, one answer, one /stop', async () => {
  await start();
  let asks = 0;
  world.telegram.fail('getFile', { status: 500, description: 'Internal Server Error' }, 1, () => ++asks === 2);
  sendAlbum(['Which one is sharper?', '', '']);
  expect(await ask('and this is another question', 4)).toMatchObject({ outcome: 'answered' });
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true', 'answered']);
  const [first] = mainCalls();
  expect(saidIn(first).map(({ type }) => type)).toEqual(['image', 'image', 'image', 'text']);
  expect(first?.pendingText).toBe('Which one is sharper?');
  // No other file is downloaded again.
  expect(world.telegram.calls.filter(({ method }) => method === 'getFile')).toHaveLength(4);
  expect(world.telegram.shown(CHAT)).toHaveLength(2);
  world.claude.react(() => ({ do: 'hang' }));
  sendAlbum(['What is this?', '']);
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'What is this?');
  await ask('/stop', 7);
  expect((await outcomes()).slice(4)).toEqual(['cancelled', expect.stringMatching(/^merged/), 'command']);
  expect(world.claude.violations()).toEqual([]);
});

test('a text that an app cut into pieces is one message, although they come one by one; what comes after the call is another', async () => {
  await start();
  for (const text of PASTED) {
    world.telegram.say(CHAT, text);
    // The first is taken up, sees what is there, and waits.
    while ((await world.peek.zcard('{sw:0}:turns:delayed')) === 0) await pause(5);
  }
  expect(await nextOutcome(world, CHAT, 3)).toMatchObject({ outcome: 'merged' });
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true']);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n')]);
  world.telegram.say(CHAT, PASTED[0] ?? '');
  await world.claude.waitForCall(({ pendingText }) => pendingText === PASTED[0]);
  expect(await ask('the end', 5)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n'), PASTED[0], 'the end']);
});

test('after an overflow all pieces are sent again', async () => {
  world.claude.react(({ kind }) => (kind === 'main' && mainCalls().length === 1 ? { do: 'overflow' } : undefined));
  await start();
  sendPasted();
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', 'merged true', 'merged true']);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual([PASTED.join('\n'), PASTED.join('\n')]);
});

async function givenFailedPaste(): Promise<string[]> {
  const mend = trouble(LIES.key);
  await start();
  sendPasted();
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['failed', 'failed true', 'failed true']);
  expect(world.telegram.shown(CHAT)).toHaveLength(1);
  mend();
  return (await settledOutcomes(world)).map(({ entry }) => entry);
}

variants<[string, (entries: readonly string[]) => unknown]>([
  ['/retry', () => world.telegram.say(CHAT, '/retry')],
  ['cli retry of the last piece', (entries) => runCli(['retry', entries.at(-1) ?? ''], world.env)],
  [
    'cli dead replay of the reason of the first',
    () => runCli(['dead', 'replay', '--all', '--reason', 'authentication'], world.env),
  ],
])('%s brings all pieces of a text that failed, as one message, and no letter is left', async (_, retry) => {
  const entries = await givenFailedPaste();
  await retry(entries);
  const ends = await until('the end of all pieces', async () => {
    const ended = (await outcomes()).slice(3).filter((end) => end !== 'command');
    return ended.length === 3 ? ended : undefined;
  });
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
  expect(ends).toEqual(['answered', expect.stringMatching(/^merged/), expect.stringMatching(/^merged/)]);
  expect(mainCalls().at(-1)?.pendingText).toBe(PASTED.join('\n'));
});

test('pieces that failed each on its own, before they were one message, come back together too', async () => {
  const [first = ''] = await givenFailedPaste();
  for (const [id, fields] of await world.peek.xrange(world.keys.dead, '-', '+')) {
    const alone = fields.map((field) => field.replace(/"into":"[^"]*",/, '').replace('"merged"', '"crashes"'));
    await world.peek.xadd(world.keys.dead, '*', ...alone);
    await world.peek.xdel(world.keys.dead, id);
  }
  await ask('and something else', 4);
  await ask(`/retry ${first}`, 8);
  expect(mainCalls().at(-1)?.pendingText).toBe(PASTED.join('\n'));
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
});

test('a piece that still waits to be put aside holds the others back, and nothing is torn apart', async () => {
  const [first = ''] = await givenFailedPaste();
  await stopGateways();
  const piece = await world.peek.xadd(world.keys.inbound, '*', 'chat', '1');
  await world.peek.hset(world.keys.turn(first as EntryId), 'pieces', JSON.stringify([piece]));
  const done = await runCli(['retry', first, '--json'], world.env);
  expect(JSON.parse(done.stdout)).toMatchObject({ kind: 'under way' });
  expect(await world.peek.xlen(world.keys.dead)).toBe(3);
});
