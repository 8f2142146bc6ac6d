import { Redis } from 'ioredis';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { startCluster } from '../../fixture/cluster.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { type Outside, startOutside } from '../compare/outside.ts';
import type { Measure } from './figure.ts';
import { cpuMsOf } from './spent.ts';

const CHATS = 100;
const MESSAGES = 600;
const WARM_UP = 400;
/**
 * V8 compiles while the first turns run; the last ones say what a gateway costs that runs for weeks. After two rounds the
 * cost falls no more.
 */
const ROUNDS = 3;
const FIRST_CHAT = 1_000;
/** The measured chats are fresh ones in each round. */
const MEASURED_CHAT = 100_000;

/** What a turn costs, and how many a second there are when each is answered at once. */
interface Cost {
  readonly cpuMs: number;
  readonly perSecond: number;
}

/** A gateway as a real process over real HTTP, and what a turn costs it. `root` is the folder of its version. */
async function costOverHttp(
  redisUrl: string,
  more: (outside: Outside) => Record<string, string> = () => ({}),
  root?: string,
): Promise<Cost> {
  await emptied(redisUrl);
  const [outside, blobs] = await Promise.all([startOutside(), temporaryBlobs()]);
  const env = { ...outside.env, ...blobs.env, REDIS_URL: redisUrl, ...more(outside) };
  const gateway = await spawnRunning('spillway.ts', env, root === undefined ? {} : { root });
  try {
    return await turnCost(gateway.pid, outside);
  } finally {
    await gateway.stop();
    await Promise.all([outside.stop(), blobs.remove()]);
  }
}

/** What a turn costs a gateway that runs, in the last round. */
async function turnCost(pid: number, outside: Outside): Promise<Cost> {
  await outside.ask({ do: 'write', messages: WARM_UP, chats: CHATS, firstChat: FIRST_CHAT });
  let last: Cost = { cpuMs: Number.NaN, perSecond: Number.NaN };
  for (let round = 1; round <= ROUNDS; round++) {
    const beforeMs = cpuMsOf(pid);
    const firstChat = round * MEASURED_CHAT;
    const { answeredAtMs = [] } = await outside.ask({ do: 'write', messages: MESSAGES, chats: CHATS, firstChat });
    const tookMs = (answeredAtMs.at(-1) ?? 0) - (answeredAtMs[0] ?? 0);
    last = { cpuMs: (cpuMsOf(pid) - beforeMs) / MESSAGES, perSecond: (MESSAGES * 1_000) / tookMs };
  }
  return last;
}

/** Empties a Redis. */
export async function emptied(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.flushall();
  redis.disconnect();
}

/** A turn over real HTTP, streaming. */
export const wire: Measure = {
  name: 'http',
  figures: {
    cpuMs: {
      name: `CPU of a turn over HTTP, streaming, ${CHATS} chats, ${MESSAGES} messages at once`,
      unit: 'ms',
      aim: { atMost: 2.5 },
    },
  },
  take: async ({ redisUrl }) => ({ ...(await costOverHttp(redisUrl)) }),
};

/** The same turn beside another version's, one after the other. */
export const sideBySide: Measure = {
  name: 'before',
  figures: {
    ratio: { name: 'CPU of the same turn over that of the version given' },
  },
  isPossible: ({ before }) => before !== undefined,
  async take({ redisUrl, before }) {
    const { cpuMs: beforeMs } = await costOverHttp(redisUrl, undefined, before);
    const { cpuMs: nowMs } = await costOverHttp(redisUrl);
    return { ratio: nowMs / beforeMs, nowMs, beforeMs };
  },
};

/** A turn that is exported to a collector, beside one that is not. */
export const telemetry: Measure = {
  name: 'telemetry',
  figures: {
    ratio: { name: 'CPU of a turn, telemetry on over off', aim: { atMost: 1.1 } },
  },
  async take({ redisUrl }) {
    const { cpuMs: offMs } = await costOverHttp(redisUrl);
    const { cpuMs: onMs } = await costOverHttp(redisUrl, ({ otlpUrl }) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    }));
    return { ratio: onMs / offMs, onMs, offMs };
  },
};

const SHARDS = 12;

/** A real cluster of three masters beside one Redis. On one machine they share its cores, so it shows what shards cost. */
export const cluster: Measure = {
  name: 'cluster',
  figures: {
    cpu: { name: `CPU of a turn, three masters with ${SHARDS} shards over one Redis` },
    rate: { name: 'the same, turns a second' },
  },
  async take({ redisUrl }) {
    const one = await costOverHttp(redisUrl);
    const masters = await startCluster();
    const env = () => ({ REDIS_URL: '', REDIS_CLUSTER_NODES: masters.nodes, SHARDS: String(SHARDS) });
    const three = await costOverHttp(redisUrl, env).finally(() => masters.stop());
    return {
      cpu: three.cpuMs / one.cpuMs,
      rate: three.perSecond / one.perSecond,
      onePerSecond: one.perSecond,
      threePerSecond: three.perSecond,
    };
  },
};
