import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { archiveSession, createArchive } from '../../../worker/session/archive.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { incidentLines } from '../demo/incident.ts';
import type { Measure } from './figure.ts';

const IN_WINDOW = 76;
const RETENTION_S = 86_400;

/** A search of the incident's session, archived: the first of a fresh process, and more after it. */
export const recall: Measure = {
  name: 'recall',
  figures: {
    firstMs: { name: 'first search in a chat of 35 MB, cold', unit: 'ms', aim: { atMost: 300 } },
    pauseMs: { name: 'the same and five more: the longest that other work waits', unit: 'ms', aim: { atMost: 50 } },
  },
  async take({ redisUrl }) {
    const redis = connectRedis(redisUrl, 'patient');
    const keys = keysOf(0);
    const { folder, remove } = await temporaryBlobs();
    try {
      await redis.flushall();
      const records = await parseLines(incidentLines());
      const session = await importSession(redis, keys, chatKey(1), records);
      await redis.hset(keys.session(session), { windowStart: records.length - IN_WINDOW });
      const archive = createArchive({ redis, keys, blobs: createFileBlobs(folder) }, RETENTION_S);
      await archiveSession(archive, session, new AbortController().signal);
      return await searched([redisUrl, folder, session]);
    } finally {
      redis.disconnect();
      await remove();
    }
  },
};

/** In a process of its own: nothing of it is warm. */
async function searched(args: readonly string[]): Promise<Record<string, number>> {
  const program = join(import.meta.dirname, 'search-chat.ts');
  const all = ['--disable-warning=ExperimentalWarning', program, ...args];
  const { stdout } = await promisify(execFile)(process.execPath, all, { env: { ...BARE_ENV } });
  return JSON.parse(stdout) as Record<string, number>;
}
