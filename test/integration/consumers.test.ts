import { expect, test } from '@jest/globals';
import { createInbox } from '../../producer/accept/inbox.ts';
import { INBOUND_GROUP } from '../../shared/redis/keys.ts';
import { eachWithQueue, keys, lane, redis } from '../fixture/each-queue.ts';
import { CHAT, eachInWorld, start, stopGateways, world } from '../fixture/each-test.ts';
import { inboundText } from '../fixture/inbound.ts';
import { until } from '../fixture/root.ts';

const EARLIER = 'alerter';

eachWithQueue();
eachInWorld();

async function consumersOf(stream: string, group: string): Promise<string[]> {
  const found = (await redis.xinfo('CONSUMERS', stream, group)) as unknown[][];
  return found.map((each) => String(each[1])).sort();
}

const groupsOf = async (stream: string) =>
  ((await redis.xinfo('GROUPS', stream)) as unknown[][]).map((each) => each[1]);

/** A process that read one entry and was never seen again. */
async function readBy(stream: string, group: string, consumer: string): Promise<void> {
  await redis.xreadgroup('GROUP', group, consumer, 'COUNT', 1, 'STREAMS', stream, '>');
}

test('a consumer that is gone is removed, and the one that reads stays', async () => {
  for (const name of ['dispatcher', 'worker-1', 'worker-2'])
    await redis.xgroup('CREATECONSUMER', keys.inbound, INBOUND_GROUP, name);
  expect(await lane.forgetConsumers(0)).toBe(2);
  expect(await consumersOf(keys.inbound, INBOUND_GROUP)).toEqual(['dispatcher']);
});

test('a consumer with a pending message stays until the message is settled', async () => {
  const { entry } = await createInbox(redis, 1).accept(7, inboundText(1), '');
  await readBy(keys.inbound, INBOUND_GROUP, 'worker-1');
  expect(await lane.forgetConsumers(0)).toBe(0);
  expect((await lane.readmit()).heads.map((head) => head.entry)).toEqual([entry]);
  await redis.multi().xack(keys.inbound, INBOUND_GROUP, entry).xdel(keys.inbound, entry).exec();
  expect(await lane.forgetConsumers(0)).toBe(1);
});

test('a consumer that has read lately stays', async () => {
  await redis.xgroup('CREATECONSUMER', keys.inbound, INBOUND_GROUP, 'worker-1');
  expect(await lane.forgetConsumers()).toBe(0);
});

test('the alert group of an earlier version goes with its consumers, once no alert waits in it', async () => {
  await redis.xgroup('CREATE', keys.alerts, EARLIER, '0', 'MKSTREAM');
  const taken = (await redis.xadd(keys.alerts, '*', 'alert', '{}')) as string;
  await readBy(keys.alerts, EARLIER, 'one');
  await redis.xgroup('CREATECONSUMER', keys.alerts, EARLIER, 'other');
  expect(await lane.forgetConsumers(0)).toBe(1);
  expect(await consumersOf(keys.alerts, EARLIER)).toEqual(['one']);
  // The book has entered it, and dropped it from the stream.
  await redis.xdel(keys.alerts, taken);
  expect(await lane.forgetConsumers(0)).toBe(1);
  expect(await groupsOf(keys.alerts)).toEqual([]);
});

test('a gateway leaves no consumer behind, however often it is started', async () => {
  for (let run = 0; run < 3; run++) {
    await start();
    world.telegram.say(CHAT, `message ${run}`);
    await until('the outcome', async () => ((await world.peek.xlen(world.keys.outcomes)) > run ? true : undefined));
    await stopGateways();
  }
  const { peek } = world;
  let consumers = 0;
  for (const key of await peek.keys('*')) {
    if ((await peek.type(key)) !== 'stream') continue;
    for (const group of (await peek.xinfo('GROUPS', key)) as unknown[][]) consumers += Number(group[3]);
  }
  expect(consumers).toBe(1);
});
