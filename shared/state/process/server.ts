import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';

/** The time, in ms since the epoch, of the server that holds the key: what is recorded there uses the same clock. */
export async function serverTimeMs(redis: RedisClient, key = keysOf(0).workers): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, key)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Why Redis refuses writes, in its own words; `undefined` when it takes them. A server can answer and still refuse. */
export function writeRefusal(redis: RedisClient): Promise<string | undefined> {
  return redis.set(keysOf(0).checked, '', 'PX', 1_000).then(
    () => undefined,
    (error: Error) => error.message.split(' ').slice(0, 8).join(' '),
  );
}

/** Whether a worker process of a host is on record. Rejects when Redis cannot be reached. */
export async function hasWorkerOf(redis: RedisClient, host: string): Promise<boolean> {
  const workers = await redis.zrange(keysOf(0).workers, '0', '-1');
  return workers.some((worker) => worker.startsWith(`${host} `));
}
