import { afterEach, expect, test } from '@jest/globals';
import { type ChatKey, keysOf } from '../../../shared/redis/keys.ts';
import { type LetterFilter, readNewestLetters } from '../../../shared/state/lane/letter-list.ts';
import { runAct } from '../../../worker/operator/act.ts';
import { ACTS } from '../../../worker/operator/acts.ts';
import { lettersOf } from '../../../worker/operator/subjects.ts';
import { shardsOf } from '../../../worker/report/report.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';

eachInWorld();

function dead(...args: string[]) {
  return runCli(['dead', ...args], world.env);
}

/** A gateway whose provider refuses the key, and messages that failed for it. */
async function givenFailed(...texts: string[]): Promise<void> {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  await start();
  for (const [at, words] of texts.entries()) {
    world.telegram.say(CHAT, words);
    expect(await nextOutcome(world, CHAT, at + 1)).toMatchObject({ outcome: 'failed' });
  }
}

async function ids(): Promise<string[]> {
  return (await world.peek.xrange(world.keys.dead, '-', '+')).map(([id]) => id);
}

test('dead list and show print failed messages newest first, and their text only with --content', async () => {
  await givenFailed('secret one', 'secret two');
  const [, newest = ''] = await ids();
  const listed = await dead('list', '--limit', '1', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    total: 2,
    letters: [{ id: newest, chat: String(CHAT), reason: 'authentication', traceId: expect.stringMatching(/^\w{32}$/) }],
  });
  const words = await dead('list');
  expect(words.stdout).toMatch(/^2 dead letters\n[\s\S]*authentication/);
  const newestShown = await dead('show', newest);
  expect(newestShown.stdout + listed.stdout + words.stdout).not.toContain('secret');
  expect(newestShown.stdout).toMatch(/Not shown without --content/);
  expect((await dead('show', newest, '--content')).stdout).toContain('secret two');
});

test('a message that is replayed twice at once is answered once, after those that wait, and is accepted again', async () => {
  await givenFailed('from the dead');
  const [id = ''] = await ids();
  const { promise: after, resolve: answer } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText: text }) => ({ do: 'answer', text, ...(text === 'waiting' && { after }) }));
  world.telegram.say(CHAT, 'waiting');
  await world.claude.waitForCall((call) => call.pendingText === 'waiting');
  await Promise.all([dead('replay', id), dead('replay', '--all')]);
  expect(await dead('replay', id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/no dead letter/) });
  answer();
  await nextOutcome(world, CHAT, 3);
  expect(shown().slice(1)).toEqual(['waiting', 'from the dead']);
  expect([await ids(), await world.peek.xlen(world.keys.inbound)]).toEqual([[], 0]);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '3', settled: '3' });
});

test('show, replay and purge take the entry that an alert names, and filters mean chat, reason and time', async () => {
  await givenFailed('by its entry', 'stays');
  const [outcome] = await settledOutcomes(world);
  const entry = String(outcome?.entry);
  const [id = '', other = ''] = await ids();
  expect(JSON.parse((await dead('show', entry, '--json')).stdout)).toMatchObject({ id, entry });
  const total = async (...filters: string[]) => JSON.parse((await dead('list', '--json', ...filters)).stdout).total;
  expect(await total('--chat', String(CHAT), '--reason', 'authentication', '--since', '1h')).toBe(2);
  expect(await total('--chat', '-100555')).toBe(0);
  expect(await total('--reason', 'undecodable')).toBe(0);
  expect(await total('--since', new Date(Date.now() + 3600_000).toISOString())).toBe(0);
  expect(JSON.parse((await dead('replay', '--all', '--chat', '1002', '--json')).stdout)).toMatchObject({ replayed: 0 });
  world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
  expect(await dead('replay', entry)).toMatchObject({ code: 0, stdout: expect.stringMatching(/back at the end/) });
  await nextOutcome(world, CHAT, 3);
  expect(await ids()).toEqual([other]);
});

test('replay --all puts messages back as they were written, even when they exceed LANE_MAX_MESSAGES', async () => {
  await moveToWorld({ env: { LANE_MAX_MESSAGES: '1' } });
  expect(await dead('replay', '--all')).toMatchObject({ code: 0, stdout: 'Nothing to replay.\n' });
  await givenFailed('one', 'two', 'three');
  world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
  expect(JSON.parse((await dead('replay', '--all', '--json')).stdout)).toMatchObject({ replayed: 3, chatless: 0 });
  await nextOutcome(world, CHAT, 6);
  expect(shown().slice(-3)).toEqual(['one', 'two', 'three']);
});

test('a damaged dead letter is listed and shown, hides no other, and is kept when it is replayed', async () => {
  const fields = ['entry', '1-0', 'record', '{"torn', 'chat', '1001', 'message', 'not JSON, but secret'];
  const id = String(await world.peek.xadd(world.keys.dead, '*', ...fields));
  await world.peek.xadd(world.keys.dead, '*', 'nonsense', 'x');
  expect(JSON.parse((await dead('list', '--json')).stdout)).toMatchObject({ total: 2 });
  const damaged = await dead('show', id);
  expect(damaged).toMatchObject({ code: 0, stdout: expect.stringMatching(/--content/) });
  expect(damaged.stdout).not.toContain('secret');
  expect((await dead('show', id, '--content')).stdout).toContain('not JSON, but secret');
  const chatless = String(await world.peek.xadd(world.keys.dead, '*', 'entry', '1-0', 'record', '{}', 'nonsense', 'x'));
  expect(await dead('replay', chatless)).toMatchObject({ code: 1, stdout: expect.stringMatching(/names no chat/) });
  expect(await ids()).toContain(chatless);
});

test('an id that exists in two shards is refused until it is named with its shard', async () => {
  world.env.SHARDS = '2';
  const shards = [keysOf(0).dead, keysOf(1).dead];
  for (const stream of shards) await world.peek.xadd(stream, '5-0', 'entry', '1-0', 'record', '{}');
  const listed = JSON.parse((await dead('list', '--json')).stdout) as { letters: { id: string }[] };
  expect(listed.letters.map(({ id }) => id).toSorted()).toEqual(['0/5-0', '1/5-0']);
  expect(await dead('purge', '5-0')).toMatchObject({ code: 1, stderr: expect.stringMatching(/say which one, 0\/5-0/) });
  expect(await dead('purge', '1/5-0')).toMatchObject({ code: 0 });
  expect(await Promise.all(shards.map((stream) => world.peek.xlen(stream)))).toEqual([1, 0]);
});

test('purge removes one letter, those before a day, or all with --all --yes', async () => {
  const old = String(await world.peek.xadd(world.keys.dead, '1000-0', 'entry', '1-0', 'record', '{}'));
  for (let n = 0; n < 3; n++) await world.peek.xadd(world.keys.dead, '*', 'entry', '2-0', 'record', '{}');
  expect(JSON.parse((await dead('purge', '--before', '1', '--json')).stdout)).toEqual({ removed: 1, ids: [old] });
  const [first = ''] = await ids();
  expect(first).not.toBe(old);
  expect(await dead('purge', first)).toMatchObject({ code: 0, stdout: expect.stringMatching(/is removed for good/) });
  expect(await dead('purge', '--all')).toMatchObject({ code: 2, stderr: expect.stringMatching(/--yes/) });
  expect(await ids()).toHaveLength(2);
  expect(JSON.parse((await dead('purge', '--all', '--yes', '--json')).stdout)).toMatchObject({ removed: 2 });
});

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
