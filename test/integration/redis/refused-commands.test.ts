import { expect, test } from '@jest/globals';
import { eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

/** A user of Redis who may do everything but what is denied. */
async function withoutCommands(...denied: string[]): Promise<{ REDIS_URL: string }> {
  await world.peek.acl('SETUSER', 'limited', 'reset', 'on', '>word', '~*', '&*', '+@all', ...denied);
  return { REDIS_URL: world.redis.url.replace('redis://', 'redis://limited:word@') };
}

test('a user without dangerous commands but INFO and KEYS is enough; a start without those or SET ends with exit code 2', async () => {
  for (const name of ['INFO', 'SET'])
    await expect(spawn(await withoutCommands(`-${name.toLowerCase()}`))).rejects.toThrow(
      new RegExp(`ended \\(2\\)[^]*Redis does not let this user run ${name}`),
    );
  await spawn(await withoutCommands('-@admin', '-@dangerous', '+info', '+keys'));
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
});

variants([
  ['BZPOPMIN', '-bzpopmin'],
  ['XREAD', '-xread'],
  ['EVALSHA', '-evalsha'],
  ['a command of scripts', '-hset'],
])('when %s is taken from a running gateway, it ends with the reason, and does not fill the log', async (_, denied) => {
  const gateway = await spawn(await withoutCommands());
  await ask('Hello');
  await withoutCommands(denied);
  expect(await gateway.ended).toBe('1');
  const fatal = gateway.log.filter((line) => line.includes('"level":60'));
  expect(fatal).toEqual([expect.stringMatching(/Redis does not let this user run/)]);
  expect(gateway.log.length).toBeLessThan(100);
});

test('a queue that Redis refuses for good is asked for at a growing distance, and the log says so once a minute', async () => {
  const gateway = await spawn();
  await ask('Hello');
  const key = `${world.keys.queuePrefix}:turns:wait`;
  await world.peek.set(key, 'not a list');
  const callsOf = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await world.peek.info('commandstats'))?.[1]);
  const [before, from] = [await callsOf(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const perSecond = ((await callsOf()) - before) / ((performance.now() - from) / 1_000);
  expect(perSecond).toBeLessThan(200);
  expect(gateway.log.filter((line) => line.includes('the job worker had trouble')).length).toBeLessThan(2);
  await world.peek.del(key);
  expect(await ask('Again', 2)).toMatchObject({ outcome: 'answered' });
});
