import type { RedisClient } from './connection.ts';

/**
 * Takes for a time what one process at a time may have. Returns 0, or for how long another still has it: `mostMs` at most,
 * since after a step back of Redis' clock a key would last for as long as the step. Rejects when Redis cannot be reached.
 */
export async function takeFor(redis: RedisClient, key: string, forMs: number, mostMs = forMs): Promise<number> {
  if ((await redis.set(key, '', 'PX', forMs, 'NX')) === 'OK') return 0;
  const leftMs = await redis.pttl(key);
  if (leftMs > mostMs) await redis.pexpire(key, mostMs);
  return Math.max(1, Math.min(leftMs, mostMs));
}
