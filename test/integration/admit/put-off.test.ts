import { expect, test } from '@jest/globals';
import { TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { CHAT, eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

/** For how many whole seconds the connection that waits for a job has been silent. */
async function silenceS(): Promise<number> {
  const clients = String(await world.peek.client('LIST')).split('\n');
  const waiting = clients.find((client) => client.includes('cmd=bzpopmin'));
  return Number(/ idle=(\d+)/.exec(waiting ?? '')?.[1] ?? 0);
}

async function connections(): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await world.peek.info('stats'))?.[1]);
}

test('a job that is put off for long makes no new connection and no warning', async () => {
  const gateway = await spawn();
  const wait = { 'retry-after': '60' };
  world.claude.react(() => ({
    do: 'error',
    status: 429,
    type: 'rate_limit_error',
    message: 'slow down',
    headers: wait,
  }));
  world.telegram.say(CHAT, 'Hello');
  await until('a job that is put off', async () =>
    (await world.peek.zcard(`${world.keys.queuePrefix}:${TURNS_QUEUE}:delayed`)) > 0 ? true : undefined,
  );
  const connected = await connections();
  const troubles = () => gateway.log.filter((line) => line.includes('the job worker had trouble'));
  // The first wait may have begun before there was the job.
  for (const wait of ['first', 'second']) {
    await until(`a ${wait} wait`, async () => ((await silenceS()) >= 3 ? true : undefined));
    await until(`the end of the ${wait} wait`, async () => ((await silenceS()) < 2 ? true : undefined));
  }
  await until('another wait', async () => ((await silenceS()) >= 1 ? true : undefined));
  expect([await connections(), troubles()]).toEqual([connected, []]);
});
