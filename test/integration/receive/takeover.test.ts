import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { openLease, type Term } from '../../../producer/receive/lease.ts';
import type { RedisAddress } from '../../../shared/base/redis-address.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { openReceiverLease } from '../../../shared/state/process/receiver.ts';
import { startCluster } from '../../fixture/cluster.ts';
import { createWorld, type World } from '../../fixture/gateway.ts';
import { spawnGateway } from '../../fixture/process.ts';
import { rootOf, until } from '../../fixture/root.ts';

/** Nobody gets such a lease by waiting for its end within a test. */
const LASTS_MS = 600_000;
/** How long the bot may be deaf after its poller was killed. */
const DEAF_MS_MAX = 6_000;
const never = new AbortController().signal;

let world: World;
const started: (() => unknown)[] = [];

beforeEach(async () => {
  world = await createWorld();
});

afterEach(async () => {
  for (const stop of started.splice(0).reverse()) await stop();
  await world.close();
});

const leaseKey = () => world.keys.poller(world.telegram.botId);
const polls = () => world.telegram.calls.filter(({ method }) => method === 'getUpdates');

/** A lease on a connection of its own, whose terms end with the test. */
function contend(processName: string, { address = world.redis.url, lastsMs = LASTS_MS }: ContendOptions = {}) {
  const redis = connectRedis(address, 'impatient');
  const lease = openLease({ ...rootOf(world), redis, processName }, { leaseLastsMs: lastsMs, leaseRetryMs: 100 });
  started.push(() => redis.disconnect());
  return async (signal = never): Promise<Term | undefined> => {
    const term = await lease.begin(signal);
    if (term) started.push(term.end);
    return term;
  };
}
type ContendOptions = { address?: RedisAddress; lastsMs?: number };

test('after kill -9 of the process that polls, another polls within 6 s', async () => {
  // The lease of the product, not the short one of other tests.
  const env = { TEST_LEASE_LASTS_MS: '5000' };
  const victim = await spawnGateway(world, env);
  await world.telegram.waitForCall(({ method }) => method === 'getUpdates');
  const heir = await spawnGateway(world, env);
  started.push(
    () => victim.stop(),
    () => heir.stop(),
  );
  await until('one that waits', () => heir.log.find((line) => line.includes('"holder":"another"')));
  const before = polls().length;
  victim.kill('SIGKILL');
  await victim.ended;
  const sinceMs = performance.now();
  await until('poll of the heir', () => polls().length > before || undefined);
  expect(performance.now() - sinceMs).toBeLessThan(DEAF_MS_MAX);
  expect(await world.peek.get(leaseKey())).toContain(` ${heir.pid} `);
});

test('the lease can be acquired again after a replica takes over its shard', async () => {
  const cluster = await startCluster();
  started.unshift(() => cluster.stop());
  const begin = contend('ours', { address: cluster.servers.map(({ url }) => url), lastsMs: 2_000 });
  const first = await begin();
  const master = await cluster.holderOf(leaseKey());
  await cluster.addReplica(master);
  master.kill9();
  await until('end of the term', () => !first?.isHeld() || undefined);
  const next = await begin(AbortSignal.timeout(10_000));
  expect(next?.isHeld()).toBe(true);
});

test('only its holder renews or releases the lease, and a holder that has lost it gets it no more', async () => {
  const hold = openReceiverLease(world.peek, world.telegram.botId);
  expect(await hold('first', LASTS_MS)).toBe('first');
  expect(await hold('second', LASTS_MS)).toBe('first');
  expect(await hold('second', 0)).toBe('first');
  await world.peek.pexpire(leaseKey(), 1_000);
  expect(await hold('first', LASTS_MS)).toBe('first');
  expect(await world.peek.pttl(leaseKey())).toBeGreaterThan(1_000);
  await hold('first', 0);
  expect(await hold('second', LASTS_MS)).toBe('second');
  expect(await hold('first', LASTS_MS)).toBe('second');
});

test('readiness names the process that polls', async () => {
  const other = await contend('elsewhere 1 a-uuid')();
  const heir = startProducer(rootOf(world), { leaseRetryMs: 100 });
  started.push(() => heir.stop());
  const said = async () => heir.readiness.find(({ name }) => name === 'poller')?.check();
  await until('one that waits', async () => (await said())?.ready || undefined);
  expect(await said()).toEqual({
    ready: true,
    detail: 'another process polls (process 1 on elsewhere); this one takes over when it ends',
  });
  await other?.end();
  await until('poll', async () => (await said())?.detail?.endsWith('ms ago') || undefined);
});

test('a producer of a quiet bot is ready within 3 s, because its first poll does not wait', async () => {
  const sinceMs = performance.now();
  const producer = startProducer(rootOf(world));
  started.push(() => producer.stop());
  const ready = async () =>
    (await Promise.all(producer.readiness.map(({ check }) => check()))).every(({ ready: is }) => is);
  await until('ready producer', async () => (await ready()) || undefined);
  expect(performance.now() - sinceMs).toBeLessThan(3_000);
  await until('long poll', () => polls().find(({ params }) => Number(params.timeout) === 50));
  expect(Number(polls()[0]?.params.timeout)).toBe(0);
});
