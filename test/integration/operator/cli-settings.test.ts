import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { freshRedis } from '../../fixture/redis.ts';
import { replicate, untilCaughtUp } from '../../fixture/replicas.ts';

eachInWorld();

const check = async (env: Record<string, string> = {}) => (await runCli(['check'], { ...world.env, ...env })).stdout;

test('check advises on what a server has otherwise, with the risk and what to do, and is content with the rest', async () => {
  await world.peek.config('SET', 'appendonly', 'no');
  expect(await check()).toMatch(
    /^advice redis settings: appendonly is no: .* loses all since its last snapshot; CONFIG SET appendonly yes.*; appendfsync is no: /m,
  );
  await world.peek.config('SET', 'appendonly', 'yes');
  await world.peek.config('SET', 'appendfsync', 'always');
  expect(await check()).toMatch(/^ok {4} redis settings: as recommended$/m);
});

test('a server that does not tell its settings is advised on all of them', async () => {
  await world.peek.acl('SETUSER', 'managed', 'on', '>word', '~*', '&*', '+@all', '-config');
  const url = world.redis.url.replace('redis://', 'redis://managed:word@');
  expect(await check({ REDIS_URL: url })).toMatch(
    /^advice redis settings: the server does not tell some settings; make sure that it has maxmemory-policy noeviction, appendonly yes, appendfsync always$/m,
  );
});

test('a master with replicas is advised to ask for them, and not to count one that stands still', async () => {
  await world.peek.config('SET', 'appendfsync', 'always');
  const replica = await freshRedis();
  try {
    await replicate(replica, world.redis);
    await untilCaughtUp(world.redis);
    expect(await check()).toMatch(
      /^advice redis settings: min-replicas-to-write is 0: .*; CONFIG SET min-replicas-to-write 1/m,
    );
    await world.peek.config('SET', 'min-replicas-to-write', '1');
    expect(await check()).toMatch(/^ok {4} redis settings: as recommended$/m);
  } finally {
    await replica.stop();
  }
});
