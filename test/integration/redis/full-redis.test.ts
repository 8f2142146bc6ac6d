import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachInWorld();

const FULL = /^OOM command not allowed/;

/** Dead letters as `settle.lua` writes them, in a Redis that then takes nothing more. */
async function givenFullWith(letters: number): Promise<string[]> {
  const ids: string[] = [];
  for (let each = 0; each < letters; each += 1) {
    const record = JSON.stringify({ entry: `${each}-0`, chat: String(CHAT), outcome: 'failed', traceId: 'a' });
    const fields = { entry: `${each}-0`, record, message: '{}', chat: String(CHAT) };
    const id = await world.peek.xadd(world.keys.dead, '*', ...Object.entries(fields).flat());
    ids.push(String(id));
  }
  await world.peek.config('SET', 'maxmemory', '1');
  await expect(world.peek.set('more', 'data')).rejects.toThrow(FULL);
  return ids;
}

test('a full Redis refuses a replay; dead letters can be purged, one or all, and that is written down first', async () => {
  const [first = ''] = await givenFullWith(3);
  const replay = await runCli(['dead', 'replay', first], world.env);
  expect(replay).toMatchObject({ code: 1, stderr: expect.stringMatching(/OOM/) });
  expect([await world.peek.xlen(world.keys.dead), await world.peek.xlen(world.keys.inbound)]).toEqual([3, 0]);
  expect(await runCli(['dead', 'purge', first, '--by', 'Ada'], world.env)).toMatchObject({ code: 0 });
  expect(await runCli(['dead', 'purge', '--all', '--yes', '--by', 'Bo', '--why', 'full'], world.env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Removed 2 of 2\.\n$/),
  });
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
  expect(await readActions(world.peek, 2)).toMatchObject([
    { deed: 'purge', target: '2 dead letters', by: 'Bo', why: 'full' },
    { deed: 'purge', target: first, by: 'Ada', why: '' },
  ]);
});

test('a gateway that was running before starts on a full Redis, and answers once there is room', async () => {
  await (await spawn()).stop();
  await givenFullWith(0);
  const gateway = await spawn();
  expect(gateway.log.filter((line) => line.includes('could not start'))).toEqual([]);
  world.telegram.say(CHAT, 'hello');
  await world.peek.config('SET', 'maxmemory', '0');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('a chat is erased from a full Redis by "session forget"', async () => {
  const gateway = await spawn();
  world.telegram.say(CHAT, 'My secret');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  await givenFullWith(2);
  expect(await runCli(['session', 'forget', String(CHAT), '--yes', '--by', 'Ada'], world.env)).toMatchObject({
    code: 0,
  });
  expect(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session')).toBeNull();
  expect(await world.peek.keys('*:log:*')).toEqual([]);
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
});
