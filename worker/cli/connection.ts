import { provideOwnRedis } from '../../shared/app/find-redis.ts';
import type { BlobPlace } from '../../shared/base/blob-place.ts';
import { connectRedis, type RedisClient, untilReady } from '../../shared/redis/connection.ts';
import { shardsProblem } from '../../shared/redis/shards.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';

const READY_MS = 10_000;

/**
 * Runs a verb on the gateway's Redis: the one from the environment, or else the private one, which is started for the
 * duration. Throws `UsageError` for an unusable configuration, a wrong `SHARDS` included, and an error when Redis does
 * not answer.
 */
export async function withRedis(
  terminal: Terminal,
  work: (redis: RedisClient, shards: number, blobs: BlobPlace) => Promise<number>,
): Promise<number> {
  const { config } = usableConfig(terminal, 'tool');
  const { SHARDS: shards, BLOB_URL: blobs } = config;
  const provided = await provideOwnRedis(config);
  if (!provided.ok) throw new UsageError(provided.problem);
  const redis = connectRedis(provided.url, 'patient');
  try {
    await untilReady(redis, READY_MS);
    const problem = await shardsProblem(redis, shards);
    if (problem !== undefined) throw new UsageError(problem);
    return await work(redis, shards, blobs);
  } finally {
    redis.disconnect();
    await provided.stop();
  }
}
