import { expect, test } from '@jest/globals';
import { noteShards } from '../../../shared/redis/keeping.ts';
import { keysOf } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { runFile } from '../../fixture/command.ts';
import { eachInWorld, start, stopGateways, world } from '../../fixture/each-test.ts';
import { chatsOfShard } from '../../fixture/gateway.ts';

eachInWorld();

/** Longer than it takes a busy machine to end two turns. */
const DRAIN_MS = 1_500;

test.each(['spillway.ts', 'worker/main.ts', 'producer/main.ts'])(
  '%s exits 2 and changes nothing when SHARDS differs from the data',
  async (root) => {
    await noteShards(world.peek, 4);
    const ended = await runFile(root, [], { ...world.env, SHARDS: '2' });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(/^SHARDS is 2, .*SHARDS=4/m) });
    expect(await world.peek.keys('*')).toEqual([keysOf(0).shards]);
    expect(world.telegram.calls).toEqual([]);
  },
);

test('audit exits 2 and check exits 1 when SHARDS differs from the data', async () => {
  await noteShards(world.peek, 4);
  const [audit, check] = await Promise.all([['audit'], ['check']].map((args) => runCli(args, world.env)));
  expect(audit).toMatchObject({ code: 2, stderr: expect.stringMatching(/SHARDS is 1/) });
  expect(check).toMatchObject({ code: 1, stdout: expect.stringMatching(/FAILED redis: SHARDS is 1/) });
});

test('a worker that is asked to end gives the turns of all shards the same time', async () => {
  world.claude.react(() => ({ do: 'hang' }));
  await start({ SHARDS: '2' }, { drainMs: DRAIN_MS });
  for (const shard of [0, 1]) world.telegram.say(chatsOfShard(shard, 2)[0] ?? 0, 'hello');
  const calls = await Promise.all([0, 1].map((at) => world.claude.waitForCall(({ index }) => index === at)));
  await stopGateways();
  const [first = 0, second = 0] = calls.map(({ endedAt }) => endedAt);
  expect(Math.abs(first - second)).toBeLessThan(DRAIN_MS);
});
