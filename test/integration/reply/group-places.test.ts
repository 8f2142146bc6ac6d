import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { keysOf, shardOf } from '../../../shared/redis/keys.ts';
import { groupPlaces } from '../../../shared/state/telegram/group-places.ts';
import { PACE } from '../../../shared/telegram/pacing.ts';
import { eachWithRedis, redis, server } from '../../fixture/each-redis.ts';

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
function twoProcesses() {
  const [one, other] = connections.map((each) => groupPlaces(each, SHARDS, PACE.groupOfAll, log));
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
