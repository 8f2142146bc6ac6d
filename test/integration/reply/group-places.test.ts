import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { keysOf, shardOf } from '../../../shared/redis/keys.ts';
import { groupPlaces } from '../../../shared/state/telegram/group-places.ts';
import type { Telegram } from '../../../shared/telegram/client.ts';
import { PACE, paceTelegram } from '../../../shared/telegram/pacing.ts';
import { eachWithRedis, redis, server } from '../../fixture/each-redis.ts';
import { HASTY_PACE } from '../../fixture/hasty.ts';

const GROUP = -1_002_000_000_001;
const SHARDS = 4;
const KEY = keysOf(shardOf(GROUP, SHARDS)).paced(GROUP);
const READY_MS = 10_000;
const { limit, interval } = PACE.groupOfAll;
const log = createLogger('silent');

let connections: ReturnType<typeof connectRedis>[];

afterEach(() => connections.forEach((each) => void each.disconnect()));
eachWithRedis();
beforeEach(async () => {
  connections = [1, 2].map(() => connectRedis(server.url, 'impatient'));
  await Promise.all([redis, ...connections].map((each) => untilReady(each, READY_MS)));
});

/** Two processes that ask for places of the same groups. */
function twoProcesses(pace = PACE) {
  const [one, other] = connections.map((each) => groupPlaces(each, SHARDS, pace.groupOfAll, log));
  if (!one || !other) throw new Error('there are two connections');
  return { one, other };
}

/** All places of the present window are taken, so that whoever counts them must wait. */
async function givenFullWindow() {
  const { one, other } = twoProcesses();
  for (let each = 0; each < limit; each++) expect(await (each % 2 ? one : other)(GROUP)).toBe(0);
  expect(await one(GROUP)).toBeGreaterThan(0);
  return one;
}

test('the places of all processes are one count for each group, in its shard, and it expires with its window', async () => {
  await givenFullWindow();
  expect(await redis.keys('*')).toEqual([KEY]);
  const { one, other } = twoProcesses();
  const waits = await Promise.all([one(GROUP), other(GROUP)]);
  for (const waitMs of waits) expect(waitMs).toBeLessThanOrEqual(interval);
  expect(await redis.pttl(KEY)).toBeLessThanOrEqual(Math.min(...waits));
  expect(await other(GROUP - 1)).toBe(0);
  await redis.pexpire(KEY, 0);
  expect(await one(GROUP)).toBe(0);
});

test.each([
  ['is full', () => redis.config('SET', 'maxmemory', '1')],
  ['is a replica', () => redis.replicaof('127.0.0.1', '1')],
  ['is gone', async () => server.kill9()],
  ['is cut off', async () => connections.forEach((each) => void each.disconnect())],
  ['does not answer', () => redis.call('CLIENT', 'PAUSE', '20000')],
  ['has set its clock back, and its window lasts for as long as that step', () => redis.pexpire(KEY, 3_600_000)],
])('where Redis %s, a process that asks is let through', async (_, trouble) => {
  const ask = await givenFullWindow();
  await trouble();
  expect(await ask(GROUP)).toBe(0);
  expect(await ask(GROUP)).toBe(0);
});

test('of two processes with much to say to a group none waits until the other is done, and each keeps its order', async () => {
  const sent: string[] = [];
  const { one, other } = twoProcesses(HASTY_PACE);
  const port = { sendMessage: async (_: unknown, text: string) => sent.push(text) } as unknown as Telegram;
  const sends = Object.entries({ one, other }).flatMap(([name, ask]) => {
    const telegram = paceTelegram(port, () => 2, ask, HASTY_PACE);
    return [0, 1, 2, 3, 4, 5, 6].map((nth) => telegram.sendMessage({ chatId: GROUP }, `${name} ${nth}`));
  });
  await Promise.all(sends);
  for (const name of ['one', 'other']) {
    expect(sent.slice(0, 10).filter((text) => text.startsWith(`${name} `)).length).toBeGreaterThanOrEqual(4);
    const own = sent.filter((text) => text.startsWith(`${name} `));
    expect(own).toEqual(own.toSorted());
  }
});
