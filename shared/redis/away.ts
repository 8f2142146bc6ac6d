import { pause } from '../base/lifecycle.ts';
import type { RedisClient } from './connection.ts';

const LOOK_MS = 250;

/**
 * Resolves when the server that holds a key has not answered for `awayMs`, or when `signal` is aborted. Notices a dead server,
 * a frozen one, and a single lost node of a cluster. Never rejects.
 */
export async function untilAway(redis: RedisClient, key: string, awayMs: number, signal: AbortSignal): Promise<void> {
  // Count rounds instead of time: if this process itself froze, an answer from Redis may wait unread in the socket.
  let silentLooks = 0;
  let isRequestOpen = false;
  const ask = async (): Promise<void> => {
    isRequestOpen = true;
    if (await isAnswered(redis, key)) silentLooks = 0;
    isRequestOpen = false;
  };
  while (!signal.aborted && silentLooks * LOOK_MS < awayMs) {
    if (!isRequestOpen) void ask();
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
