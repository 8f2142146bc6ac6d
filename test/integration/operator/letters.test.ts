import { afterEach, expect, test } from '@jest/globals';
import { keysOf, parseChatKey } from '../../../shared/redis/keys.ts';
import { type LetterFilter, readNewestLetters } from '../../../shared/state/lane/letter-list.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { purgeLetters, replayLetters } from '../../../worker/operator/letters.ts';
import { shardsOf } from '../../../worker/report/report.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

eachInWorld();

let shards = 1;
afterEach(() => {
  shards = 1;
});

const ANN = { by: 'ann', why: 'the key is back' };
const source = () => ({ redis: world.peek, shards });

interface Kept {
  shard?: number;
  chat?: string;
  reason?: string;
  into?: string;
}

/** Letters as `settle.lua` writes them, oldest first, with the given ids. */
async function givenLetters(letters: Readonly<Record<string, Kept>>): Promise<void> {
  for (const [id, { shard = 0, chat = '1001', reason = 'authentication', into }] of Object.entries(letters)) {
    const record = JSON.stringify({ chat, reason, outcome: 'failed', ...(into !== undefined && { into }) });
    const fields = ['entry', entryOf(id), 'record', record, 'chat', chat, 'message', `{"words":"of ${id}"}`];
    await world.peek.xadd(keysOf(shard).dead, id, ...fields);
  }
}

const entryOf = (id: string) => `1${id}`;

async function kept(shard = 0): Promise<string[]> {
  return (await world.peek.xrange(keysOf(shard).dead, '-', '+')).map(([id]) => id);
}

/** The entries of the letters that were put back, in the order of the stream. */
async function putBack(shard = 0): Promise<string[]> {
  const entries = await world.peek.xrange(keysOf(shard).inbound, '-', '+');
  return entries.map(([, fields]) => fields[1] ?? '');
}

async function whole<T>(run: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of run) all.push(one);
  return all;
}

const replayed = (filter: LetterFilter, max: number) => whole(replayLetters(source(), filter, ANN, max));
const purged = (filter: LetterFilter) => whole(purgeLetters(source(), filter, ANN, 9));

test('a run comes to every letter, with a line of the trail for as many as are read at once', async () => {
  await givenLetters({ '1-0': {}, '2-0': {}, '3-0': {}, '4-0': {}, '5-0': {} });
  expect((await replayed({}, 2)).map(({ result }) => result)).toEqual(Array(5).fill('replayed'));
  expect(await putBack()).toEqual(['1-0', '2-0', '3-0', '4-0', '5-0'].map(entryOf));
  expect((await readActions(world.peek, 9)).map(({ deed, target, by, why }) => ({ deed, target, by, why }))).toEqual([
    { deed: 'replay', target: '5-0', ...ANN },
    { deed: 'replay', target: '2 dead letters', ...ANN },
    { deed: 'replay', target: '2 dead letters', ...ANN },
  ]);
});

test('runs at the same time, as after one that was killed, put each letter back once', async () => {
  await givenLetters({ '1-0': {}, '2-0': {}, '3-0': {}, '4-0': {} });
  await Promise.all([1, 2, 3].map((max) => replayed({}, max)));
  expect(await kept()).toEqual([]);
  expect((await putBack()).toSorted()).toEqual(['1-0', '2-0', '3-0', '4-0'].map(entryOf));
});

test('a run ends although what it puts back fails again: a letter that is written meanwhile is not meant', async () => {
  await givenLetters({ '1-0': {}, '2-0': {} });
  const again: (string | null)[] = [];
  const found: string[] = [];
  for await (const { letters } of replayLetters(source(), {}, ANN, 1)) {
    found.push(...letters);
    const fields = ['entry', '9-0', 'record', '{}', 'chat', '1001', 'message', '{}'];
    // Of a later millisecond than that in which the run began, as what is accepted again and fails is.
    again.push(await world.peek.xadd(world.keys.dead, `${Date.now() + 1_000 * found.length}-0`, ...fields));
  }
  expect(found).toEqual(['1-0', '2-0']);
  expect(await kept()).toEqual(again);
});

test('the pieces of a message are put back with it, where another chat stands between and no more are read', async () => {
  const piece = { reason: 'merged', into: entryOf('1-0') };
  await givenLetters({ '1-0': {}, '2-0': { chat: '1002' }, '3-0': piece, '4-0': { chat: '1002' }, '5-0': piece });
  const [first, ...others] = await replayed({ reason: 'authentication' }, 1);
  expect(first?.letters).toEqual(['1-0', '3-0', '5-0']);
  expect(others.map(({ letters }) => letters)).toEqual([['2-0'], ['4-0']]);
  expect(await putBack()).toEqual(['1-0', '3-0', '5-0', '2-0', '4-0'].map(entryOf));
});

test('what names no chat stays, is counted, and does not keep a run from its end', async () => {
  await world.peek.xadd(world.keys.dead, '1-0', 'nonsense', 'x');
  await givenLetters({ '2-0': {} });
  expect((await replayed({}, 1)).map(({ result }) => result)).toEqual(['chatless', 'replayed']);
  expect(await kept()).toEqual(['1-0']);
});

test('a run and a filter reach over all shards, and mean chat, reason and time', async () => {
  shards = 2;
  await givenLetters({ '1-0': { shard: 0 }, '2-0': { shard: 0, reason: 'too-large' } });
  await givenLetters({ '1-0': { shard: 1, chat: '1002' }, '3-0': { shard: 1, chat: '1002' } });
  const chat = parseChatKey('1002')?.chat;
  if (chat === undefined) throw new Error('1002 is no chat');
  expect(await purged({ chat, sinceMs: 4 })).toEqual([]);
  expect(await purged({ chat, sinceMs: 2 })).toHaveLength(1);
  const run = await replayed({ reason: 'authentication' }, 1);
  expect(run.map(({ letters }) => letters)).toEqual([['0/1-0'], ['1/1-0']]);
  expect(await Promise.all([kept(0), kept(1)])).toEqual([['2-0'], []]);
});

test.each([
  ['without a filter', {}],
  ['with one', { reason: 'authentication' }],
])('the newest letters are those of all shards %s, and it is said how many there are', async (_, filter) => {
  shards = 2;
  await givenLetters({ '1-0': { shard: 0 }, '5-0': { shard: 0 }, '10-9': { shard: 0 }, '10-10': { shard: 0 } });
  await givenLetters({ '5-0': { shard: 1 }, '6-0': { shard: 1 } });
  const { letters, total } = await readNewestLetters(world.peek, shardsOf(source()), filter, 5);
  expect(letters.map(({ name }) => name)).toEqual(['0/10-10', '0/10-9', '1/6-0', '0/5-0', '1/5-0']);
  expect(total).toBe(6);
});

test('the newest of many letters take as much from Redis as is shown, and not what stands behind them', async () => {
  await givenLetters(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${at + 1}-0`, {}])));
  const before = await repliedBytes();
  const { letters, total } = await readNewestLetters(world.peek, shardsOf(source()), {}, 10);
  expect([letters.length, total]).toEqual([10, 300]);
  expect((await repliedBytes()) - before).toBeLessThan(20_000);
});

async function repliedBytes(): Promise<number> {
  return Number(/total_net_output_bytes:(\d+)/.exec(await world.peek.info('stats'))?.[1]);
}

test('what an operator did and failed is not done again among others', async () => {
  await givenLetters({ '1-0': {}, '2-0': { chat: '9001!!' }, '3-0': {} });
  expect(await replayed({}, 9)).toHaveLength(2);
  expect(await kept()).toEqual(['2-0']);
});
