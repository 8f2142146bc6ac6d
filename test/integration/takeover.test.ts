import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProducer } from '../../producer/producer.ts';
import { introduce, lookFor } from '../../producer/receive/holder.ts';
import type { Lease } from '../../producer/receive/lease.ts';
import { startLease } from '../../producer/receive/redis-lease.ts';
import { ownMark, type ProcessMark } from '../../shared/base/machine.ts';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import type { RedisAddress } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { startCluster } from '../fixture/cluster.ts';
import { createWorld, type World } from '../fixture/gateway.ts';
import { spawnGateway } from '../fixture/process.ts';
import { rootOf, until } from '../fixture/root.ts';

/** Nobody gets such a lease by waiting for its end within a test. */
const LASTS_MS = 600_000;
/** How long the bot may be deaf. */
const DEAF_MS_MAX = 3_000;
const ELSEWHERE: ProcessMark = { host: 'elsewhere', pid: 1, machine: 'another boot', startedAt: '1' };
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
const holderIn = async () => JSON.parse((await world.peek.get(leaseKey())) ?? '{}') as Record<string, unknown>;
const polls = () => world.telegram.calls.filter(({ method }) => method === 'getUpdates');

/** A lease on a connection of its own. `die` is what a death looks like from outside: its connection closes. */
function contend(options: { mark?: ProcessMark; address?: RedisAddress; retryMs?: number } = {}) {
  const { mark, address = world.redis.url, retryMs = 100 } = options;
  const redis = connectRedis(address, 'impatient');
  const { log } = rootOf(world);
  const lease = startLease({ redis, key: leaseKey(), log, lastsMs: LASTS_MS, retryMs, ...(mark && { mark }) });
  // A second disconnect leaves a timer behind.
  started.push(() => redis.status !== 'end' && redis.disconnect(), lease.stop.bind(lease));
  return { lease, redis, die: () => redis.disconnect() };
}

async function waitsBehind(lease: Lease, name: string): Promise<void> {
  await until('one that waits', () => {
    const standing = lease.standing();
    return (standing.who === 'another' && standing.name.includes(name)) || undefined;
  });
}

test('after kill -9 of the process that polls, another on the same machine polls within 3 s', async () => {
  const env = { TEST_LEASE_LASTS_MS: String(LASTS_MS) };
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
  expect(await holderIn()).toMatchObject({ pid: heir.pid });
});

test('a closed connection shows within 3 s that a holder on another machine is gone', async () => {
  const victim = contend({ mark: ELSEWHERE });
  const term = await victim.lease.begin(never);
  const heir = contend();
  await waitsBehind(heir.lease, 'process 1 on elsewhere');
  victim.die();
  const sinceMs = performance.now();
  const next = await heir.lease.begin(AbortSignal.timeout(10_000));
  expect(performance.now() - sinceMs).toBeLessThan(DEAF_MS_MAX);
  expect([term?.isHeld(), next?.isHeld()]).toEqual([false, true]);
});

test('on a cluster a closed connection to the node with the lease shows that its holder is gone', async () => {
  const cluster = await startCluster();
  started.unshift(() => cluster.stop());
  const address = cluster.servers.map(({ url }) => url);
  const victim = contend({ mark: ELSEWHERE, address });
  await victim.lease.begin(never);
  const heir = contend({ address });
  await waitsBehind(heir.lease, 'elsewhere');
  victim.die();
  const next = await heir.lease.begin(AbortSignal.timeout(DEAF_MS_MAX));
  expect(next?.isHeld()).toBe(true);
});

test('the lease can be acquired again after a replica takes over its shard', async () => {
  const cluster = await startCluster();
  started.unshift(() => cluster.stop());
  const { lease } = contend({ address: cluster.servers.map(({ url }) => url) });
  const first = await lease.begin(never);
  const master = await cluster.holderOf(leaseKey());
  await cluster.addReplica(master);
  master.kill9();
  await until('end of the term', () => !first?.isHeld() || undefined);
  const next = await lease.begin(AbortSignal.timeout(10_000));
  expect(next?.isHeld()).toBe(true);
}, 40_000);

test('a holder that loses its connection ends its term, and regains the lease when it is reconnected', async () => {
  const { lease, redis } = contend({ mark: ELSEWHERE });
  const first = await lease.begin(never);
  const before = await holderIn();
  await world.peek.client('KILL', 'ID', String(await redis.call('CLIENT', 'ID')));
  await until('end of the term', () => !first?.isHeld() || undefined);
  const next = await lease.begin(AbortSignal.timeout(5_000));
  expect([next?.isHeld(), await next?.confirm()]).toEqual([true, true]);
  const after = await holderIn();
  expect(after.owner).toBe(before.owner);
  expect(after.connection).not.toEqual(before.connection);
});

test('the lease is taken only from the holder that was judged; one that renewed it meanwhile keeps it', async () => {
  const hold = bindScript<string>(world.peek, join(PROJECT_ROOT, 'producer', 'receive', 'acquire-lease.lua'));
  const ask = (owner: string, text: string, gone = '') => hold([leaseKey()], [owner, text, LASTS_MS, gone]);
  expect(await ask('first', 'first by 1')).toBe('first by 1');
  expect(await ask('first', 'first by 2')).toBe('first by 2');
  expect(await ask('heir', 'heir', 'first by 1')).toBe('first by 2');
  expect(await ask('heir', 'heir', 'first by 2')).toBe('heir');
  expect(await ask('second heir', 'second heir', 'first by 2')).toBe('heir');
});

test('a holder counts as gone only when its process or its connection is known to have ended', async () => {
  const redis = connectRedis(world.redis.url, 'patient');
  started.push(() => redis.disconnect());
  await untilReady(redis, 5_000);
  const us = await introduce(redis, 'us', ownMark());
  const [run, id] = [us.connection?.run ?? '', us.connection?.id ?? 0];
  const other = { owner: 'other', ...ELSEWHERE };
  const look = (connection?: { run: string; id: number }) =>
    lookFor({ ...other, ...(connection && { connection }) }, us, redis);
  expect(await look({ run, id })).toBe('unknown');
  expect(await look({ run, id: id + 1_000 })).toBe('cut off');
  // Another run counts its connections from 1, as this one did.
  expect(await look({ run: 'another', id: id + 1_000 })).toBe('unknown');
  expect(await look()).toBe('unknown');
  const ended = { owner: 'other', ...ownMark(), startedAt: 'long ago' };
  expect(await lookFor(ended, us, redis)).toBe('ended');
  // A clone of this machine has its name and its boot, and other processes.
  expect(await lookFor({ ...ended, connection: { run, id } }, us, redis)).toBe('unknown');
  await world.peek.call('ACL', 'SETUSER', 'default', '-client|list');
  expect(await look({ run, id: id + 1_000 })).toBe('unknown');
  await world.peek.call('ACL', 'SETUSER', 'default', '-client|id', '-info');
  expect(await introduce(redis, 'us', ownMark())).toEqual({ owner: 'us', ...ownMark() });
});

test('the lease is acquired, held and released even when the ACL forbids CLIENT', async () => {
  await world.peek.call('ACL', 'SETUSER', 'default', '-client');
  const first = contend({ mark: ELSEWHERE });
  expect((await first.lease.begin(AbortSignal.timeout(5_000)))?.isHeld()).toBe(true);
  const second = contend();
  await waitsBehind(second.lease, 'elsewhere');
  await first.lease.stop();
  expect((await second.lease.begin(AbortSignal.timeout(5_000)))?.isHeld()).toBe(true);
});

test('readiness names the process that polls, and is not ready once that process is gone', async () => {
  const victim = contend({ mark: ELSEWHERE });
  await victim.lease.begin(never);
  const heir = startProducer(rootOf(world), { leaseLastsMs: LASTS_MS, leaseRetryMs: 1_500 });
  started.push(() => heir.stop());
  const said = async () => heir.readiness.find(({ name }) => name === 'poller')?.check();
  await until(
    'one that waits',
    async () => /this one takes over when it ends/.test((await said())?.detail ?? '') || undefined,
  );
  expect(await said()).toEqual({
    ready: true,
    detail: 'another process polls (process 1 on elsewhere); this one takes over when it ends',
  });
  victim.die();
  const gone = await until('one that knows', async () => {
    const now = await said();
    return now?.ready === false ? now : undefined;
  });
  expect(gone.detail).toBe('process 1 on elsewhere polled and is gone; this one takes over');
  await until('poll', async () => (await said())?.ready || undefined);
});

test('a producer of a quiet bot is ready within 3 s, because its first poll does not wait', async () => {
  const sinceMs = performance.now();
  const producer = startProducer(rootOf(world));
  started.push(() => producer.stop());
  const ready = async () =>
    (await Promise.all(producer.readiness.map(({ check }) => check()))).every(({ ready: is }) => is);
  await until('ready producer', async () => (await ready()) || undefined);
  expect(performance.now() - sinceMs).toBeLessThan(DEAF_MS_MAX);
  await until('long poll', () => polls().find(({ params }) => Number(params.timeout) === 50));
  expect(Number(polls()[0]?.params.timeout)).toBe(0);
});
