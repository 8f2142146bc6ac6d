import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/base/config.ts';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { PARTIAL_PREFIX, writeDurably } from '../blob/durable-file.ts';
import { notedStoreId, readStoreId } from '../blob/store-mark.ts';
import type { Finding } from './finding.ts';

const REDIS_DEADLINE_MS = 5_000;
const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same folder (see blob-store in the runbook)';

/** Checks that the blob store takes a file, and that it is the one that the data refers to. Binds and changes nothing. */
export async function checkBlobs(config: Config): Promise<Finding[]> {
  const { BLOB_URL: place } = config;
  const noted = await notedStore(config).catch(() => undefined);
  if (place.kind === 'redis') {
    const detail = 'kept in Redis';
    if (noted === undefined) return [{ part: 'blobs', ok: true, detail }];
    return [
      { part: 'blobs', ok: false, detail: `${detail}, but the data refers to a folder: its files cannot be read` },
    ];
  }
  try {
    await writeProbe(place.folder);
    const own = await readStoreId(place.folder);
    if (noted !== undefined && own !== noted)
      return [{ part: 'blobs', ok: false, detail: `${place.folder}: ${OTHER_STORE}` }];
    const detail = `${place.folder}, takes files; workers on other machines need the same folder`;
    return [{ part: 'blobs', ok: true, detail }];
  } catch (error) {
    return [{ part: 'blobs', ok: false, detail: `${place.folder}: ${(error as Error).message}` }];
  }
}

async function writeProbe(folder: string): Promise<void> {
  const probe = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, probe, Buffer.from('check'));
  await rm(probe, { force: true });
}

/** A Redis that does not answer is reported by its own check. */
async function notedStore(config: Config): Promise<string | undefined> {
  const address = redisAddressOf(config);
  if (address === undefined) return undefined;
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    return await notedStoreId(redis);
  } finally {
    redis.disconnect();
  }
}
