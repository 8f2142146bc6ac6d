import { pause } from '../base/lifecycle.ts';
import type { RedisClient } from './connection.ts';

const LOOK_MS = 250;

/**
 * Resolves when the server that holds a key answered nothing for `awayMs`, or when `signal` is aborted. The server can be
 * gone, stand still, or be the only one of a cluster that is lost. Never rejects.
 */
export async function untilAway(redis: RedisClient, key: string, awayMs: number, signal: AbortSignal): Promise<void> {
  // Looks are counted, and no time: where this process itself stood still, an answer may wait to be read.
  let silentLooks = 0;
  let isAsked = false;
  const ask = async (): Promise<void> => {
    isAsked = true;
    if (await isAnswered(redis, key)) silentLooks = 0;
    isAsked = false;
  };
  while (!signal.aborted && silentLooks * LOOK_MS < awayMs) {
    if (!isAsked) void ask();
    silentLooks += 1;
    await pause(LOOK_MS, signal);
  }
}

async function isAnswered(redis: RedisClient, key: string): Promise<boolean> {
  try {
    await redis.exists(key);
    return true;
  } catch {
    return false;
  }
}
