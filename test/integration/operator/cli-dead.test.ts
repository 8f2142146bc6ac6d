import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { givenFailed, givenLetters, keptLetters } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, moveToWorld, shown, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';

eachInWorld();

function dead(...args: string[]) {
  return runCli(['dead', ...args], world.env);
}

test('dead list and show print failed messages newest first, by filters and entries, and their text only with --content', async () => {
  await givenFailed('secret one', 'secret two');
  const [, newest = ''] = await keptLetters();
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
  // By the entry that an alert names.
  const entry = String((await settledOutcomes(world))[1]?.entry);
  expect(JSON.parse((await dead('show', entry, '--json')).stdout)).toMatchObject({ id: newest, entry });
  const total = async (...filters: string[]) => JSON.parse((await dead('list', '--json', ...filters)).stdout).total;
  expect(await total('--chat', String(CHAT), '--reason', 'authentication', '--since', '1h')).toBe(2);
  expect(await total('--reason', 'undecodable')).toBe(0);
  expect(await total('--since', new Date(Date.now() + 3600_000).toISOString())).toBe(0);
});

test('a message that is replayed twice at once is answered once, after those that wait, and is accepted again', async () => {
  await givenFailed('from the dead');
  const [id = ''] = await keptLetters();
  const { promise: after, resolve: answer } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText: text }) => ({ do: 'answer', text, ...(text === 'waiting' && { after }) }));
  world.telegram.say(CHAT, 'waiting');
  await world.claude.waitForCall((call) => call.pendingText === 'waiting');
  await Promise.all([dead('replay', id), dead('replay', '--all')]);
  expect(await dead('replay', id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/no dead letter/) });
  answer();
  await nextOutcome(world, CHAT, 3);
  expect(shown().slice(1)).toEqual(['waiting', 'from the dead']);
  expect([await keptLetters(), await world.peek.xlen(world.keys.inbound)]).toEqual([[], 0]);
  expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '3', settled: '3' });
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
  expect(await keptLetters()).toContain(chatless);
});

test('an id of two shards needs the number of one; newest and filters are those of all shards', async () => {
  world.env.SHARDS = '2';
  await givenLetters(['1-0', '5-0', '10-9']);
  await givenLetters(['10-10'], { reason: 'too-large' });
  await givenLetters(['1-0', '5-0', '6-0'], { shard: 1, chat: '1002' });
  const listed = async (...args: string[]) => {
    const { letters, total } = JSON.parse((await dead('list', '--json', ...args)).stdout);
    return [letters.map(({ id }: { id: string }) => id).join(' '), total];
  };
  expect(await listed('--limit', '5')).toEqual(['0/10-10 0/10-9 1/6-0 0/5-0 1/5-0', 7]);
  expect(await listed('--limit', '2', '--reason', 'refused')).toEqual(['0/10-9 1/6-0', 6]);
  expect(await dead('purge', '5-0')).toMatchObject({ code: 1, stderr: expect.stringMatching(/say which one, 0\/5-0/) });
  expect(await dead('purge', '1/5-0')).toMatchObject({ code: 0 });
  const since = new Date(2).toISOString();
  const purged = await dead('purge', '--all', '--yes', '--chat', '1002', '--since', since, '--json');
  expect(JSON.parse(purged.stdout)).toMatchObject({ removed: 1 });
  const replayed = await dead('replay', '--all', '--reason', 'refused', '--json');
  expect(JSON.parse(replayed.stdout)).toMatchObject({ replayed: 4 });
  await givenLetters([`${Date.now()}-0`], { shard: 1 });
  const old = await dead('purge', '--before', '1', '--json');
  expect(JSON.parse(old.stdout)).toEqual({ removed: 1, ids: ['0/10-10'] });
  expect([await keptLetters(), await keptLetters(1)]).toEqual([[], [expect.any(String)]]);
});

test('the pieces of a message are put back with it, where another chat stands between', async () => {
  for (const [id, chat] of Object.entries({
    '1-0': '1001',
    '2-0': '1002',
    '3-0': '1001',
    '4-0': '1002',
    '5-0': '1001',
  }))
    await givenLetters([id], { chat, ...(['3-0', '5-0'].includes(id) && { reason: 'merged', into: '11-0' }) });
  expect(await dead('replay', '--all', '--reason', 'refused')).toMatchObject({ code: 0 });
  const entries = await world.peek.xrange(world.keys.inbound, '-', '+');
  expect(entries.map(([, fields]) => fields[1])).toEqual(['11-0', '13-0', '15-0', '12-0', '14-0']);
});
