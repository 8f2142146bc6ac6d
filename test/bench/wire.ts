import { Redis } from 'ioredis';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { temporaryBlobs } from '../fixture/blobs.ts';
import { type GatewayProcess, spawnRunning } from '../fixture/process.ts';
import type { Measure } from './figure.ts';
import { type Outside, startOutside } from './outside.ts';
import { cpuMsOf } from './spent.ts';

const CHATS = 100;
const MESSAGES = 600;
/** The first turns compile code; they say nothing about a gateway that runs. */
const WARM_UP = 400;
const FIRST_CHAT = 1_000;
/** The measured chats are fresh ones. */
const MEASURED_CHAT = 100_000;

/** A gateway of this or another version, as a real process over real HTTP, and the time that each turn takes of its core. */
export async function cpuMsPerTurn(
  redisUrl: string,
  more: { root?: string; env?: (outside: Outside) => Record<string, string> } = {},
): Promise<number> {
  await emptied(redisUrl);
  const [outside, blobs] = await Promise.all([startOutside(0), temporaryBlobs()]);
  const env = { ...outside.env, ...blobs.env, REDIS_URL: redisUrl, ...more.env?.(outside) };
  const gateway = await spawnRunning('spillway.ts', env, { root: more.root ?? PROJECT_ROOT });
  try {
    return await turnCost(gateway, outside);
  } finally {
    await gateway.stop();
    await Promise.all([outside.stop(), blobs.remove()]);
  }
}

/** What a turn costs a gateway that runs, in ms of processor time. */
export async function turnCost(gateway: GatewayProcess, outside: Outside): Promise<number> {
  await outside.write({ messages: WARM_UP, chats: CHATS, firstChat: FIRST_CHAT });
  const beforeMs = cpuMsOf(gateway.pid);
  await outside.write({ messages: MESSAGES, chats: CHATS, firstChat: MEASURED_CHAT });
  return (cpuMsOf(gateway.pid) - beforeMs) / MESSAGES;
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
  take: async ({ redisUrl }) => ({ cpuMs: await cpuMsPerTurn(redisUrl) }),
};

/** The same turn beside another version's, one after the other. */
export const sideBySide: Measure = {
  name: 'before',
  figures: {
    ratio: { name: 'CPU of the same turn over that of the version given', unit: '', aim: { atMost: 0.5 } },
  },
  isPossible: ({ before }) => before !== undefined,
  async take({ redisUrl, before = PROJECT_ROOT }) {
    const beforeMs = await cpuMsPerTurn(redisUrl, { root: before });
    const nowMs = await cpuMsPerTurn(redisUrl);
    return { ratio: nowMs / beforeMs, nowMs, beforeMs };
  },
};

/** A turn that is exported to a collector, beside one that is not. */
export const telemetry: Measure = {
  name: 'telemetry',
  figures: {
    ratio: { name: 'CPU of a turn, telemetry on over off', unit: '', aim: { atMost: 1.1 } },
  },
  async take({ redisUrl }) {
    const offMs = await cpuMsPerTurn(redisUrl);
    const onMs = await cpuMsPerTurn(redisUrl, {
      env: ({ otlpUrl }) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      }),
    });
    return { ratio: onMs / offMs, onMs, offMs };
  },
};
