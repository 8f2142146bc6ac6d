import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Queue, type QueueOptions, type RedisQueueBackend, type Worker } from 'bullmq';
import { traceIdsOnly } from '../../shared/base/telemetry.ts';
import type { PrivateRedis } from '../../shared/private-redis/server.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { chatKey, type EntryId, jobIdOf, type Keys, keysOf, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { Handover } from '../../worker/lane/handover.ts';
import type { Head } from '../../worker/lane/head.ts';
import { openQueue, openWorker, QUEUE_LIMITS, type TurnJob, type TurnQueue } from '../../worker/lane/queue.ts';
import { createSlots } from '../../worker/lane/slots.ts';
import { lentRedis } from '../fixture/lent-redis.ts';
import { until } from '../fixture/root.ts';

/** Far below the five seconds after which a worker looks by itself. */
const SOON_MS = 2_000;
/** Longer than a test may take. */
const LONG_S = 60;

let server: PrivateRedis;
let keys: Keys;
let peek: ReturnType<typeof connectRedis>;
let seen: Queue;
let processes: Process[] = [];

/** A process with a queue and a worker that share a connection. */
interface Process {
  queue: TurnQueue;
  handover: Handover;
  worker: Worker<TurnJob>;
  /** The entries whose jobs it ran. */
  ran: EntryId[];
  /** Lets the jobs end. */
  finish: () => void;
  stop(): Promise<void>;
}

beforeEach(async () => {
  server = await lentRedis();
  keys = keysOf(0);
  peek = connectRedis(server.url, 'patient');
  seen = new Queue(TURNS_QUEUE, { connection: peek, prefix: keys.queuePrefix });
});

afterEach(async () => {
  await Promise.all(processes.map((each) => each.stop()));
  processes = [];
  await seen.close();
  peek.disconnect();
  await server.stop();
});

/** Starts a process that runs `slots` jobs at once; each lasts until `finish`. */
async function started(slots: number): Promise<Process> {
  const redis = connectRedis(server.url, 'patient');
  const handover = new Handover(redis);
  const telemetry = traceIdsOnly();
  const queue = openQueue(redis, keys, telemetry, handover);
  const ran: EntryId[] = [];
  const held = Promise.withResolvers<void>();
  const options = { share: createSlots(slots).share(), limits: QUEUE_LIMITS, handover };
  const worker = openWorker(redis, keys, telemetry, options, async ({ data }) => {
    ran.push(data.entry);
    await held.promise;
  });
  // One test makes a step fail; the gateway logs such an error.
  worker.on('error', () => {});
  const readers = await blocked();
  void worker.run();
  const process = {
    queue,
    handover,
    worker,
    ran,
    finish: held.resolve,
    async stop() {
      held.resolve();
      await worker.close();
      await queue.close();
      redis.disconnect();
    },
  };
  processes.push(process);
  await until('worker that waits', async () => ((await blocked()) > readers ? true : undefined));
  return process;
}

/** A queue and the worker's side of its hand-over, without the worker. */
async function withoutWorker() {
  const redis = connectRedis(server.url, 'patient');
  const handover = new Handover(redis);
  const queue = openQueue(redis, keys, traceIdsOnly(), handover);
  const options: QueueOptions = { connection: redis, prefix: keys.queuePrefix };
  const backend = handover.workerSide(TURNS_QUEUE, options, { withBlockingConnection: true });
  await backend.waitUntilReady();
  const close = async (): Promise<void> => {
    await queue.close();
    await backend.close();
    redis.disconnect();
  };
  return { redis, queue, backend, close };
}

async function blocked(): Promise<number> {
  return Number(/blocked_clients:(\d+)/.exec(await peek.info('clients'))?.[1]);
}

function head(number: number): Head {
  return { entry: `${number}-0` as EntryId, chat: chatKey(1000 + number), traceparent: '' };
}

const whenRan = (process: Process, count: number) =>
  until(`${count} jobs that run`, async () => (process.ran.length === count ? true : undefined), SOON_MS);

test('a worker that waits takes a job in the step that adds it, and no other worker is woken', async () => {
  const [own, other] = [await started(5), await started(5)];
  const commands: string[] = [];
  const watching = connectRedis(server.url, 'patient');
  const monitor = await watching.monitor();
  monitor.on('monitor', (_time: string, [name = '']: string[]) => commands.push(name.toLowerCase()));
  await own.queue.add([head(1)]);
  await whenRan(own, 1);
  own.finish();
  await until('end of the job', async () =>
    (await peek.exists(`${keys.queuePrefix}:turns:m-1-0`)) ? undefined : true,
  );
  await peek.ping();
  for (const each of [monitor, watching]) each.disconnect();
  expect(commands.filter((name) => name === 'bzpopmin')).toEqual([]);
  expect(commands.filter((name) => name === 'exec')).toHaveLength(1);
  expect([own.ran, other.ran]).toEqual([['1-0'], []]);
});

test('jobs that are added together are all run', async () => {
  const own = await started(5);
  await own.queue.add([1, 2, 3, 4].map(head));
  await whenRan(own, 4);
  expect(own.ran.toSorted()).toEqual(['1-0', '2-0', '3-0', '4-0']);
});

test('what a full process adds is taken by another at once, though its own read got the wake-up', async () => {
  const [full, other] = [await started(1), await started(1)];
  await full.queue.add([head(1)]);
  await whenRan(full, 1);
  await full.queue.add([head(2)]);
  await whenRan(other, 1);
  expect([full.ran, other.ran]).toEqual([['1-0'], ['2-0']]);
});

test('a job of another process wakes a worker that waits', async () => {
  const own = await started(5);
  await seen.add('turn', { entry: '7-0', chat: '1007' }, { jobId: jobIdOf('7-0' as EntryId) });
  await whenRan(own, 1);
});

test.each(['before it begins', 'meanwhile or before'])(
  'a wake-up that a full Redis does not take back, %s, ends the next wait',
  async (when) => {
    const { redis, queue, backend, close } = await withoutWorker();
    const woken = backend.waitForJob(LONG_S);
    await until('blocking read', async () => ((await blocked()) > 0 ? true : undefined));
    const added = queue.add([head(1)]);
    await woken;
    // The read goes on, and nobody waits. It gets a wake-up in the moment in which Redis becomes full.
    await peek.multi().zadd(backend.toKey('marker'), 7, '1').config('SET', 'maxmemory', '1').exec();
    await until('end of the read', async () => ((await blocked()) > 0 ? undefined : true));
    if (when === 'before it begins') {
      await until(
        'refusal',
        async () => /cmdstat_zadd:.*rejected_calls=1/.test(await peek.info('commandstats')) || undefined,
      );
      await redis.ping();
    }
    expect(await backend.waitForJob(LONG_S)).toEqual({ member: '1', score: 7 });
    await peek.config('SET', 'maxmemory', '0');
    await added;
    await close();
  },
);

test('a job is added although the worker that was to take it does not, and its next wait is as long as it says', async () => {
  const { queue, backend, close } = await withoutWorker();
  const woken = backend.waitForJob(5);
  const added = queue.add([head(1)]);
  expect(await woken).toEqual({ member: '0', score: 0 });
  const startedMs = performance.now();
  expect(await backend.waitForJob(0.2)).toBeNull();
  expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
  await added;
  expect(await seen.getJobState('m-1-0')).toBe('waiting');
  await close();
});

test('a job is added once although the step in which a worker was to take it fails', async () => {
  const own = await started(5);
  await peek.set(`${keys.queuePrefix}:turns:delayed`, 'no sorted set');
  await own.queue.add([head(1)]);
  expect(await peek.exists(`${keys.queuePrefix}:turns:m-1-0`)).toBe(1);
  await peek.del(`${keys.queuePrefix}:turns:delayed`);
  await until('job that runs', async () => (own.ran.length === 1 ? true : undefined), 20_000);
  expect(own.ran).toEqual(['1-0']);
});

test('a worker that waits ends when it is asked to, although Redis is away', async () => {
  const own = await started(5);
  const { backend } = own.worker as unknown as { backend: RedisQueueBackend };
  const blocking = await backend.blockingClient;
  server.kill9();
  await until('connection that is to be tried again', async () => blocking?.status === 'reconnecting' || undefined);
  await own.worker.close();
});
