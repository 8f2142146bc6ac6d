import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { archiveSession, createArchive } from '../../../worker/session/archive.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { incidentLines } from '../demo/incident.ts';
import { inOwnProcess } from './bench.ts';
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
      return await inOwnProcess('search-chat.ts', [redisUrl, folder, session]);
    } finally {
      redis.disconnect();
      await remove();
    }
  },
};
