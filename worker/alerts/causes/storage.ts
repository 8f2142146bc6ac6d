import type { Alert } from '../../../shared/flow/alert.ts';
import { evictionInWords, wordsOf } from '../../../shared/redis/keeping.ts';
import type { RedisState } from '../../../shared/redis/server-state.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about Redis, the blob store and the data in them. */
export const STORAGE = {
  ledger: {
    severity: 'page',
    title: 'Messages may be lost: the counts of messages do not add up',
    todo: 'Follow the runbook, section "ledger".',
    endsBy: 'alert',
    end: 'the counts of messages add up again.',
    follows: ['lost-data'],
  },
  'lost-data': {
    severity: 'page',
    title: 'Messages may be lost: Redis lost data',
    todo: 'Find out why Redis stopped, and check its persistence and replication.',
    endsBy: 'fact',
    namesEach: true,
  },
  memory: {
    severity: 'page',
    title: 'Redis is full: no message is accepted',
    todo: 'Raise maxmemory, or lower LEDGER_RETENTION_DAYS or SESSION_IDLE_DAYS.',
    endsBy: 'watch',
    end: 'Redis has room again, and deletes nothing.',
    levels: {
      evicting: {
        title: 'Messages may be lost: Redis deletes data when it is full',
        todo: 'Set maxmemory-policy to noeviction.',
      },
      'nearly full': {
        severity: 'attention',
        title: 'Redis is nearly full',
        todo: 'Raise maxmemory, or lower LEDGER_RETENTION_DAYS or SESSION_IDLE_DAYS.',
      },
    },
  },
  persistence: {
    severity: 'page',
    title: 'Messages are not safe: Redis does not write to disk',
    todo: 'Check the disk of Redis and its setting appendonly.',
    endsBy: 'watch',
    end: 'Redis writes to disk again.',
  },
  'blob-store': {
    severity: 'page',
    title: 'Messages with files wait: the blob store cannot be used',
    todo: 'Check the folder of BLOB_URL (disk, owner), or its bucket and keys. All workers need the same BLOB_URL.',
    endsBy: 'quiet',
    end: 'the blob store works again.',
    acts: [],
  },
} satisfies Rules;

/** Above this share of `maxmemory`, Redis counts as nearly full. */
const MEMORY_SHARE = 0.8;
/** Above this share of `maxmemory`, Redis counts as full: within minutes, users may get no more answers. */
const FULL_SHARE = 0.95;

/** The condition of a Redis that is nearly full or full, or whose policy is to delete data once it is full. Pure. */
export function memoryConditions({ evicts, usedBytes, maxBytes }: RedisState): Condition[] {
  if (evicts !== undefined) return [{ cause: 'memory', text: evictionInWords(evicts), level: 'evicting' }];
  if (maxBytes === 0 || usedBytes <= maxBytes * MEMORY_SHARE) return [];
  const [used, max] = [usedBytes, maxBytes].map((bytes) => Math.round(bytes / 1024 / 1024));
  const text = `Redis uses ${used} of ${max} MB. When it is full, no message is accepted.`;
  return [{ cause: 'memory', text, level: usedBytes > maxBytes * FULL_SHARE ? 'full' : 'nearly full' }];
}

/** Conditions for a Redis that cannot write its files, or that has no persistence although the settings require it. Pure. */
export function fileConditions({ unwritten, isOnDisk }: RedisState, isVolatileAccepted: boolean): Condition[] {
  if (unwritten !== undefined) {
    const text = `Redis cannot write its files (${unwritten}): if it stops now, everything since its last write is lost.`;
    return [{ cause: 'persistence', text, level: unwritten }];
  }
  if (isOnDisk !== false || isVolatileAccepted) return [];
  return [{ cause: 'persistence', text: wordsOf('volatile'), level: 'volatile' }];
}

/** The alert that one process cannot read or write the blob store. */
export function blobStoreAlert(why: string, process: string): Alert {
  return {
    cause: 'blob-store',
    level: why,
    text: `The blob store (BLOB_URL) fails for ${process} (${why}). Messages with files wait; all others are answered. Nothing is lost.`,
  };
}

/** The alert that a process does not use the same blob store as the rest of the installation. */
export function otherBlobStoreAlert(process: string): Alert {
  return {
    cause: 'blob-store',
    level: 'another store',
    text: `The blob store (BLOB_URL) of ${process} is not that of the other processes. They cannot read each other's files.`,
  };
}
