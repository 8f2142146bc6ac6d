import { pause } from '../base/lifecycle.ts';
import type { RedisClient } from './connection.ts';

const LOOK_MS = 250;

/** Resolves when a connection was unusable for `awayMs` without a break, or when `signal` is aborted. Never rejects. */
export async function untilAway(redis: RedisClient, awayMs: number, signal: AbortSignal): Promise<void> {
  let usableMs = performance.now();
  while (!signal.aborted && performance.now() - usableMs < awayMs) {
    await pause(LOOK_MS, signal);
    if (redis.status === 'ready') usableMs = performance.now();
  }
}
