import { afterEach, expect, test } from '@jest/globals';
import { type ChatKey, keysOf } from '../../../shared/redis/keys.ts';
import { type LetterFilter, readNewestLetters } from '../../../shared/state/lane/letter-list.ts';
import { runAct } from '../../../worker/operator/act.ts';
import { ACTS } from '../../../worker/operator/acts.ts';
import { lettersOf } from '../../../worker/operator/subjects.ts';
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

async function replayed(filter: LetterFilter = {}): Promise<string> {
  const at = source();
  return (await runAct(at, ACTS.replay, await lettersOf(at, { ...filter, withoutDesk: true }), ANN)).text;
}

test('the pieces of a message are put back with it, where another chat stands between', async () => {
  const piece = { reason: 'merged', into: entryOf('1-0') };
  await givenLetters({ '1-0': {}, '2-0': { chat: '1002' }, '3-0': piece, '4-0': { chat: '1002' }, '5-0': piece });
  expect(await replayed({ reason: 'authentication' })).toBe('Replayed 5 of 5');
  expect(await putBack()).toEqual(['1-0', '3-0', '5-0', '2-0', '4-0'].map(entryOf));
});

test('a filter reaches over all shards, and means chat, reason and time', async () => {
  shards = 2;
  await givenLetters({ '1-0': { shard: 0 }, '2-0': { shard: 0, reason: 'too-large' } });
  await givenLetters({ '1-0': { shard: 1, chat: '1002' }, '3-0': { shard: 1, chat: '1002' } });
  const purged = async (filter: LetterFilter) =>
    (await runAct(source(), ACTS.purge, await lettersOf(source(), filter), ANN)).text;
  expect(await purged({ chat: '1002' as ChatKey, sinceMs: 4 })).toBe('Removed 0 of 0');
  expect(await purged({ chat: '1002' as ChatKey, sinceMs: 2 })).toBe('Removed 1 of 1');
  expect(await replayed({ reason: 'authentication' })).toBe('Replayed 2 of 2');
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
