import type { Redis } from 'ioredis';
import { cpuMsDuring, inFlight, messageOf, startBench } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const MESSAGES = 4_000;
const CHATS = 100;

/** What each turn took of the gateway's core and of Redis'. */
interface Turns {
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
  const cpuMs = await cpuMsDuring(async () => {
    await inFlight(messages, (n) => bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % CHATS), `message ${n}`), ''));
    await promise;
  });
  const redisSpentMs = (await redisCpuMs(bench.redis)) - redisBeforeMs;
  await bench.stop();
  return { cpuMs: cpuMs / messages, redisCpuMs: redisSpentMs / messages };
}

/** The processor time that a Redis has used so far. */
async function redisCpuMs(redis: Redis): Promise<number> {
  const seconds = (await redis.info('cpu')).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return [...seconds].reduce((sum, [, value]) => sum + Number(value) * 1_000, 0);
}

/** Turns without a network. */
export const throughput: Measure = {
  name: 'throughput',
  figures: {
    cpuMs: { name: `CPU of a turn in process, ${CHATS} chats`, unit: 'ms' },
    redisCpuMs: { name: 'the same, of Redis', unit: 'ms' },
  },
  async take({ redisUrl }) {
    await turns(redisUrl, MESSAGES / 4);
    return { ...(await turns(redisUrl, MESSAGES)) };
  },
};
