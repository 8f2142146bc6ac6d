import { expect, test } from '@jest/globals';
import { keysOf } from '../../shared/redis/keys.ts';
import { noteShards, shardsProblem } from '../../shared/redis/shards.ts';
import { runFile } from '../fixture/command.ts';
import { eachInWorld, world } from '../fixture/each-test.ts';

eachInWorld();

test('who begins first says how many shards there are, and all who begin later agree or are told', async () => {
  expect(await Promise.all([noteShards(world.peek, 4), noteShards(world.peek, 4)])).toEqual([undefined, undefined]);
  expect(await noteShards(world.peek, 2)).toMatch(/^SHARDS is 2, .* begun with SHARDS=4/);
  expect(await shardsProblem(world.peek, 1)).toMatch(/Set SHARDS=4\./);
  expect(await noteShards(world.peek, 4)).toBeUndefined();
});

test('data that tells no number fits any, and whoever only looks notes none', async () => {
  expect(await shardsProblem(world.peek, 3)).toBeUndefined();
  expect(await world.peek.exists(world.keys.shards)).toBe(0);
});

test.each(['spillway.ts', 'worker/main.ts', 'producer/main.ts'])(
  '%s ends with the code for configuration, and touches nothing, when the number is another',
  async (root) => {
    await noteShards(world.peek, 4);
    const ended = await runFile(root, [], { ...world.env, SHARDS: '2' });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(/^SHARDS is 2, .*SHARDS=4/m) });
    expect(await world.peek.keys('*')).toEqual([keysOf(0).shards]);
    expect(world.telegram.calls).toEqual([]);
  },
);

test('no verb of the operator looks at a part of the shards as if they were all', async () => {
  await noteShards(world.peek, 4);
  const [audit, check] = await Promise.all(
    [['audit'], ['check']].map((args) => runFile('worker/cli/main.ts', args, world.env)),
  );
  expect(audit).toMatchObject({ code: 2, stderr: expect.stringMatching(/SHARDS is 1/) });
  expect(check).toMatchObject({ code: 1, stdout: expect.stringMatching(/FAILED redis: SHARDS is 1/) });
});
