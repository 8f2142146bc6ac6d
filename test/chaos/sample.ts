/** What a long run uses over time: of a gateway's process, and of Redis. */
import { readdir, readFile } from 'node:fs/promises';
import type { ChaosWorld } from './world.ts';

/** One look. Memory is in megabytes. */
export interface Sample {
  seconds: number;
  asked: number;
  /** Updates that Telegram still holds. */
  waiting: number;
  /** Messages that have an outcome. */
  settled: number;
  gatewayMb: number;
  /** Open files, sockets included. */
  gatewayHandles: number;
  redisMb: number;
  redisKeys: number;
  /** Entries of the inbound stream: messages without an outcome. */
  unanswered: number;
}

const MB = 1_048_576;
const KB_PER_MB = 1_024;

/** Looks at a gateway and at Redis; undefined while Redis does not answer or the system does not tell. */
export async function look(
  { peek, keys, telegram }: ChaosWorld,
  pid: number,
  sinceMs: number,
  asked: number,
): Promise<Sample | undefined> {
  // The connection waits for a server that is away, and a sample must not.
  if (peek.status !== 'ready') return undefined;
  try {
    const [status, handles, info, redisKeys, settled, unanswered] = await Promise.all([
      readFile(`/proc/${pid}/status`, 'utf8'),
      readdir(`/proc/${pid}/fd`),
      peek.info('memory'),
      peek.dbsize(),
      peek.xlen(keys.outcomes),
      peek.xlen(keys.inbound),
    ]);
    return {
      seconds: Math.round((Date.now() - sinceMs) / 1_000),
      asked,
      waiting: telegram.pending(),
      settled,
      gatewayMb: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / KB_PER_MB),
      gatewayHandles: handles.length,
      redisMb: Math.round(Number(/used_memory:(\d+)/.exec(info)?.[1]) / MB),
      redisKeys,
      unanswered,
    };
  } catch {
    return undefined;
  }
}
