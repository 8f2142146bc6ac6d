import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { redisAddressOf } from '../../../shared/base/redis-address.ts';
import { readSettings } from '../../../shared/base/settings.ts';
import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { untilNews } from '../../../shared/redis/failover.ts';
import { bindScript } from '../../../shared/redis/script.ts';
import { type RedisProxy, startProxy } from '../../chaos/proxy.ts';
import { freshRedis, type ListeningRedis } from '../../fixture/redis.ts';
import { demote, MASTER, onServer, promote, replicate, startSentinels, untilCaughtUp } from '../../fixture/replicas.ts';
import { until } from '../../fixture/root.ts';

/** How long a failover may keep us from going on. */
const AWAY_MS_MAX = 10_000;

let first: ListeningRedis;
let second: ListeningRedis;
let proxy: RedisProxy;
let address: string;
const started: (() => unknown)[] = [];

beforeEach(async () => {
  const settings = { 'repl-diskless-sync-delay': '0' };
  [first, second] = await Promise.all([freshRedis({ settings }), freshRedis({ settings })]);
  await replicate(second, first);
  proxy = await startProxy(first.port);
  address = `redis://127.0.0.1:${proxy.port}`;
});

afterEach(async () => {
  for (const stop of started.splice(0).reverse()) await stop();
  await proxy.close();
  await Promise.all([first.stop(), second.stop()]);
});

function connect(use: 'patient' | 'impatient') {
  const redis = connectRedis(address, use);
  started.push(() => redis.disconnect());
  // A step of the product that writes.
  const beat = bindScript<number>(redis, join(PROJECT_ROOT, 'shared', 'state', 'process', 'beat.lua'));
  return { redis, write: (text: string) => beat(['key'], ['okMs', '', text]) };
}

const written = (server: ListeningRedis) => onServer(server.port, (redis) => redis.hget('key', 'receiver'));

/** The replica takes over, and the old primary keeps its clients' sockets open. */
async function demoteFirst(): Promise<void> {
  await untilCaughtUp(first);
  await promote(second);
  await demote(first, second);
  proxy.pointAt(second.port);
}

test('leaves a primary demoted with open sockets: a patient write is resent, an impatient one fails once', async () => {
  const [patient, impatient] = [connect('patient'), connect('impatient')];
  await patient.write('before');
  await untilReady(impatient.redis, 5_000);
  await demoteFirst();
  await patient.write('after');
  expect(await written(second)).toBe('after');
  await expect(impatient.write('refused')).rejects.toThrow(/READONLY/);
  await until('next write', () => impatient.write('again').catch(() => undefined), AWAY_MS_MAX);
  expect(await written(second)).toBe('again');
});

test('a plain write is not resent, because it may be part of a transaction', async () => {
  const { redis } = connect('patient');
  await redis.set('key', 'before');
  await demoteFirst();
  await expect(redis.set('key', 'alone')).rejects.toThrow(/READONLY/);
  await expect(redis.multi().set('key', 'half').incr('key').exec()).resolves.toMatchObject([
    [null, 'OK'],
    [expect.anything(), undefined],
  ]);
  expect(await onServer(second.port, (server) => server.get('key'))).toBe('half');
});

test('a replica is not used as the server: reconnects with backoff until it is promoted', async () => {
  proxy.pointAt(second.port);
  const { write } = connect('patient');
  const writing = write('at last');
  const sinceMs = performance.now();
  await until('some tries', () => proxy.opened >= 5 || undefined);
  // 100, 200, 400 and 800 ms lie between them.
  expect(performance.now() - sinceMs).toBeGreaterThan(1_000);
  await promote(second);
  await writing;
  expect(await written(second)).toBe('at last');
});

test('an impatient write on a silent connection fails within 5 s, and the next one gets through', async () => {
  const { redis, write } = connect('impatient');
  await untilReady(redis, 5_000);
  await write('before');
  proxy.blackHole();
  const sinceMs = performance.now();
  await expect(write('into the hole')).rejects.toThrow();
  expect(performance.now() - sinceMs).toBeLessThan(5_000);
  await until('next write', () => write('again').catch(() => undefined));
});

test('a blocking read on a demoted primary ends and continues on the new primary', async () => {
  const { redis } = connect('patient');
  await redis.xadd('stream', '1-0', 'a', 'b');
  await demoteFirst();
  // Nobody waited when it was demoted, and a replica answers reads.
  await demote(first, { port: 1 });
  const news = Promise.withResolvers<void>();
  const stopped = new AbortController();
  started.push(() => stopped.abort());
  void (async () => {
    while (!stopped.signal.aborted) {
      await untilNews(redis, 'stream', '1-0', 100).catch(() => undefined);
      if ((await redis.xlen('stream').catch(() => 0)) > 1) news.resolve();
    }
  })();
  await onServer(second.port, (server) => server.xadd('stream', '2-0', 'c', 'd'));
  await news.promise;
});

test('connections that BullMQ duplicates from ours follow a failover too', async () => {
  const { redis } = connect('patient');
  const queue = new Queue('jobs', { connection: redis });
  const done: string[] = [];
  const worker = new Worker('jobs', async ({ name }) => void done.push(name), {
    connection: redis,
    runRetryDelay: 100,
  });
  worker.on('error', () => {});
  started.push(
    () => queue.close(),
    () => worker.close(),
  );
  await queue.add('before', {});
  await until('first job', () => done.includes('before') || undefined);
  await demoteFirst();
  await until('job of the new primary', async () => {
    if (done.length === 1) await queue.add('after', {}, { jobId: 'once' }).catch(() => undefined);
    return done.includes('after') || undefined;
  });
});

test('finds the primary through password-protected sentinels and follows their failover', async () => {
  const secret = 'p,ss';
  for (const server of [first, second])
    await onServer(server.port, async (redis) => {
      await redis.config('SET', 'masterauth', secret, 'requirepass', secret);
    });
  const sentinels = await startSentinels(first, {
    lines: [`sentinel auth-pass ${MASTER} ${secret}`, 'requirepass watcher'],
  });
  started.push(() => sentinels.stop());
  const reading = readSettings(
    {
      REDIS_SENTINELS: sentinels.list
        .split(',')
        .map((at) => `redis://:watcher@${at}`)
        .join(','),
      REDIS_SENTINEL_MASTER: `redis://:p%2Css@${MASTER}`,
    },
    'tool',
  );
  if (!reading.ok) throw new Error(reading.problems.join());
  const redis = connectRedis(redisAddressOf(reading.settings) ?? '', 'patient');
  started.push(() => redis.disconnect());
  await untilReady(redis, 5_000);
  await redis.set('key', 'before');
  await redis.wait(1, 5_000);
  // Frozen, so that no socket closes; and idle, so that no command misses its answer.
  const left = once(redis, 'close');
  process.kill(first.pid, 'SIGSTOP');
  const sinceMs = performance.now();
  await left;
  await until('write', () => redis.set('key', 'after').catch(() => undefined), AWAY_MS_MAX);
  expect(performance.now() - sinceMs).toBeLessThan(AWAY_MS_MAX);
  expect(await onServer(second.port, (server) => server.get('key'), secret)).toBe('after');
});
