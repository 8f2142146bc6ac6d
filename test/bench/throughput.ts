import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { CONCURRENCY, inFlight, messageOf, startBench } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const JOBS = 6_000;
const MESSAGES = 4_000;
const CHATS = 100;

/** How often a job calls a script that does next to nothing: before it is added, and while it runs. */
interface Padding {
  before: number;
  within: number;
}

const BARE: Padding = { before: 0, within: 0 };
/** A turn's own scripts: accept and admit, begin, write and settle. */
const LIKE_A_TURN: Padding = { before: 2, within: 3 };
const SCRIPT = "redis.call('HSET', KEYS[1], 'message', ARGV[1]) return 1";
const TEXT = 'x'.repeat(500);

/**
 * BullMQ without a gateway, over a connection of its own kind: live add, ten in flight, to a worker that does nothing.
 * Over a connection of ours it is slower by a third: what is written once per tick saves processor time, and not time.
 * Jobs a second.
 */
async function bullmqAlone(redisAddress: string, jobs: number, padding: Padding): Promise<number> {
  const redis = new Redis(redisAddress, { maxRetriesPerRequest: null });
  await redis.flushall();
  redis.defineCommand('pad', { numberOfKeys: 1, lua: SCRIPT });
  const scripted = redis as unknown as { pad(key: string, text: string): Promise<1> };
  const padded = async (times: number, n: number): Promise<void> => {
    for (let time = 0; time < times; time++) await scripted.pad(`pad:${n % CHATS}`, TEXT);
  };
  const queue = new Queue('bare', { connection: redis, defaultJobOptions: { removeOnComplete: true } });
  let done = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = ({ data }: Job<{ n: number }>): Promise<void> => padded(padding.within, data.n);
  const worker = new Worker('bare', run, { connection: redis, concurrency: CONCURRENCY });
  worker.on('completed', () => {
    done += 1;
    if (done === jobs) resolve();
  });
  await worker.waitUntilReady();
  const startedMs = performance.now();
  await inFlight(jobs, async (n) => {
    await padded(padding.before, n);
    await queue.add('job', { n });
  });
  await promise;
  const perSecond = (jobs / (performance.now() - startedMs)) * 1000;
  await worker.close();
  await queue.close();
  redis.disconnect();
  return perSecond;
}

/** What turns came to: how many a second, and what each took of the gateway's core and of Redis'. */
interface Turns {
  perSecond: number;
  cpuMs: number;
  redisCpuMs: number;
}

/** Plays complete turns over many chats, from the first accept to the last reply. */
async function turns(redisAddress: string, messages: number): Promise<Turns> {
  let sent = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const telegram = instantTelegram(() => {
    sent += 1;
    if (sent === messages) resolve();
  });
  const bench = await startBench(redisAddress, { model: instantModel(WINDOW_TOKENS), telegram });
  const redisBeforeMs = await redisCpuMs(bench.redis);
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  await inFlight(messages, (n) => bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % CHATS), `message ${n}`), ''));
  await promise;
  const perSecond = (messages / (performance.now() - startedMs)) * 1000;
  const { user, system } = process.cpuUsage(startedCpu);
  const redisSpentMs = (await redisCpuMs(bench.redis)) - redisBeforeMs;
  await bench.stop();
  return { perSecond, cpuMs: (user + system) / 1_000 / messages, redisCpuMs: redisSpentMs / messages };
}

/** The processor time that a Redis has used so far. */
async function redisCpuMs(redis: Redis): Promise<number> {
  const seconds = (await redis.info('cpu')).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return [...seconds].reduce((sum, [, value]) => sum + Number(value) * 1_000, 0);
}

/** Turns without a network beside jobs that do nothing. */
export const throughput: Measure = {
  name: 'throughput',
  figures: {
    ratio: { name: `complete turns over bare BullMQ, ${CHATS} chats, in process`, unit: '', aim: { atLeast: 0.35 } },
    padded: {
      name: 'jobs with as many scripts as a turn, which do next to nothing, over bare BullMQ',
      unit: '',
      aim: undefined,
    },
  },
  async take({ redisUrl }) {
    await bullmqAlone(redisUrl, JOBS / 4, BARE);
    await turns(redisUrl, MESSAGES / 4);
    const barePerSecond = await bullmqAlone(redisUrl, JOBS, BARE);
    const paddedPerSecond = await bullmqAlone(redisUrl, JOBS, LIKE_A_TURN);
    const { perSecond, ...spent } = await turns(redisUrl, MESSAGES);
    const padded = paddedPerSecond / barePerSecond;
    return { ratio: perSecond / barePerSecond, padded, turnsPerSecond: perSecond, barePerSecond, ...spent };
  },
};
