import { randomUUID } from 'node:crypto';
import { access, constants, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../shared/base/config.ts';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { PARTIAL_PREFIX, writeDurably } from '../blob/durable-file.ts';
import { notedStoreId, readStoreId } from '../blob/store-mark.ts';
import type { Finding } from './finding.ts';

const REDIS_DEADLINE_MS = 5_000;
const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same folder (see blob-store in the runbook)';

/**
 * Checks that the blob store takes a file, and that it is the one that the data refers to. Binds and changes nothing.
 */
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
    const own = await readStoreId(place.folder);
    const isThere = await writeProbe(place.folder);
    if (noted !== undefined && own !== noted)
      return [{ part: 'blobs', ok: false, detail: `${place.folder}: ${OTHER_STORE}` }];
    const state = isThere ? 'takes files' : 'is made at the first start';
    const detail = `${place.folder}, ${state}; workers on other machines need the same folder`;
    return [{ part: 'blobs', ok: true, detail }];
  } catch (error) {
    return [{ part: 'blobs', ok: false, detail: `${place.folder}: ${(error as Error).message}` }];
  }
}

/**
 * Makes no folder: it would belong to whoever runs the check, and not to the gateway. `false` when there is none yet.
 */
async function writeProbe(folder: string): Promise<boolean> {
  let existing = folder;
  while (!(await exists(existing)) && existing !== dirname(existing)) existing = dirname(existing);
  await access(existing, constants.W_OK);
  if (existing !== folder) return false;
  const probe = join(folder, `${PARTIAL_PREFIX}${randomUUID()}`);
  await writeDurably(folder, probe, Buffer.from('check'));
  await rm(probe, { force: true });
  return true;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? false : Promise.reject(error)),
  );
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
