import { expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import { TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

async function numberIn(section: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(await world.peek.info(section))?.[1] ?? 0);
}

test('a job that is put off for long makes no new connection and no warning', async () => {
  const gateway = await spawn();
  const queue = new Queue(TURNS_QUEUE, { connection: world.peek, prefix: world.keys.queuePrefix });
  await queue.add('turn', { entry: '1-0', chat: '1001' }, { delay: 600_000 });
  const waits = () => numberIn('commandstats', /cmdstat_bzpopmin:calls=(\d+)/);
  const connections = () => numberIn('stats', /total_connections_received:(\d+)/);
  const [before, connected] = [await waits(), await connections()];
  const troubles = () => gateway.log.filter((line) => line.includes('the job worker had trouble'));
  await until('two more waits for a job', async () =>
    (await waits()) >= before + 2 || troubles().length > 0 ? true : undefined,
  );
  expect(troubles()).toEqual([]);
  expect(await connections()).toBe(connected);
  await queue.close();
});
