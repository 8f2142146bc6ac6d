import { expect, test } from '@jest/globals';
import { keysOf } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, moveToWorld, start, world } from '../../fixture/each-test.ts';
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
  const shown = await dead('show', newest);
  expect(shown.stdout + listed.stdout + words.stdout).not.toContain('secret');
  expect(shown.stdout).toMatch(/Not shown without --content/);
  expect((await dead('show', newest, '--content')).stdout).toContain('secret two');
});

test('a replayed message is answered once, after the messages that wait, and counts as accepted again', async () => {
  await givenFailed('from the dead');
  const [id = ''] = await ids();
  world.claude.react((call) => ({
    do: 'answer',
    text: call.pendingText,
    afterMs: call.pendingText === 'waiting' ? 1_500 : 0,
  }));
  world.telegram.say(CHAT, 'waiting');
  await world.claude.waitForCall((call) => call.pendingText === 'waiting');
  expect(await dead('replay', id)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/back at the end of its lane/),
  });
  expect(await dead('replay', id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/no dead letter/) });
  await nextOutcome(world, CHAT, 3);
  const said = world.telegram.shown(CHAT).map(({ text }) => text);
  expect(said.slice(-2)).toEqual(['waiting', 'from the dead']);
  expect(await ids()).toEqual([]);
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

test('two replays of a message at the same time yield one answer', async () => {
  await givenFailed('only once');
  const [id = ''] = await ids();
  world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
  await Promise.all([dead('replay', id), dead('replay', '--all')]);
  await nextOutcome(world, CHAT, 2);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(world.telegram.shown(CHAT).filter(({ text }) => text === 'only once')).toHaveLength(1);
});

test('replay --all puts messages back as they were written, even when they exceed LANE_MAX_MESSAGES', async () => {
  await moveToWorld({ env: { LANE_MAX_MESSAGES: '1' } });
  expect(await dead('replay', '--all')).toMatchObject({ code: 0, stdout: 'Nothing to replay.\n' });
  await givenFailed('one', 'two', 'three');
  world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
  expect(JSON.parse((await dead('replay', '--all', '--json')).stdout)).toMatchObject({ replayed: 3, chatless: 0 });
  await nextOutcome(world, CHAT, 6);
  const said = world.telegram.shown(CHAT).map(({ text }) => text);
  expect(said.slice(-3)).toEqual(['one', 'two', 'three']);
});

test('a damaged dead letter is listed and shown, and hides no other', async () => {
  const fields = ['entry', '1-0', 'record', '{"torn', 'chat', '1001', 'message', 'not JSON, but secret'];
  const id = String(await world.peek.xadd(world.keys.dead, '*', ...fields));
  await world.peek.xadd(world.keys.dead, '*', 'nonsense', 'x');
  expect(JSON.parse((await dead('list', '--json')).stdout)).toMatchObject({ total: 2 });
  const shown = await dead('show', id);
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/--content/) });
  expect(shown.stdout).not.toContain('secret');
  expect((await dead('show', id, '--content')).stdout).toContain('not JSON, but secret');
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

test('replay exits 1 on a dead letter without a chat and keeps it', async () => {
  const id = String(await world.peek.xadd(world.keys.dead, '*', 'entry', '1-0', 'record', '{}', 'nonsense', 'x'));
  const { code, stdout } = await dead('replay', id);
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/names no chat/) });
  expect(await ids()).toEqual([id]);
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
