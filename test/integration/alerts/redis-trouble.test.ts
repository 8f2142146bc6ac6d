import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { CHAT, eachWithGateway, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachWithGateway(undefined, { redisTroubleMs: 300 });

const told = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text);

test('the operator is alerted without Redis when it takes no writes, and when it takes them again', async () => {
  await world.peek.config('SET', 'min-replicas-to-write', '1');
  const { text } = await told(/^Redis takes no writes: it has too few replicas/m);
  expect(text).toMatch(/since \d{4}-\d\d-\d\d .* UTC, as process \d+ on /);
  await world.peek.config('SET', 'min-replicas-to-write', '0');
  await told(/^Resolved: Redis takes writes again/);
  world.telegram.say(CHAT, 'hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('the operator is alerted without Redis when it becomes a read-only replica, and when it is back', async () => {
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  // Ours would leave a replica at once, and could not end what it began.
  const raw = new Redis(world.redis.url);
  await raw.replicaof('127.0.0.1', 1);
  try {
    await told(/^Redis takes no writes: it .*Check the Redis server, or where REDIS_URL leads\.$/m);
  } finally {
    await raw.replicaof('NO', 'ONE');
    raw.disconnect();
  }
  await told(/^Resolved: Redis takes writes again/);
  world.telegram.say(CHAT, 'and now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
});
