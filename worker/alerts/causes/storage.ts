import type { Alert } from '../../../shared/flow/alert.ts';
import { evictionInWords, wordsOf } from '../../../shared/redis/keeping.ts';
import type { RedisState } from '../../../shared/redis/server-state.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about Redis, the blob store and the messages in them. */
export const STORAGE = {
  ledger: {
    severity: 'page',
    title: 'The ledger does not add up',
    todo: 'See the runbook: messages may have gone without an outcome.',
    endsBy: 'alert',
    end: 'the ledger adds up again.',
    follows: ['lost-data'],
  },
  'lost-data': {
    severity: 'page',
    title: 'Redis lost data',
    todo: 'Check how Redis ended, and its settings of persistence and replication.',
    endsBy: 'fact',
    namesEach: true,
  },
  memory: {
    severity: 'page',
    title: 'Redis evicts data, or is full',
    todo: 'Full: raise maxmemory, or set LEDGER_RETENTION_DAYS or SESSION_IDLE_DAYS. Evicting: set maxmemory-policy to noeviction.',
    endsBy: 'watch',
    end: 'Redis has room again, and evicts nothing.',
    levels: {
      'nearly full': {
        severity: 'attention',
        title: 'Redis is nearly full',
        todo: 'Raise maxmemory, or set LEDGER_RETENTION_DAYS or SESSION_IDLE_DAYS.',
      },
    },
  },
  persistence: {
    severity: 'page',
    title: 'Redis does not keep its data on disk',
    todo: 'Check the disk of Redis, or its appendonly: what it takes now is gone when it ends.',
    endsBy: 'watch',
    end: 'Redis keeps its data on disk again.',
  },
  'blob-store': {
    severity: 'page',
    title: 'The blob store cannot be used',
    todo: 'Check BLOB_URL: the disk and the owner of its folder, or its bucket and the keys for it; all workers need the same one.',
    endsBy: 'quiet',
    end: 'the blob store is used again.',
    acts: [],
  },
} satisfies Rules;

/** The share of `maxmemory` from which on Redis is nearly full. */
const MEMORY_SHARE = 0.8;
/** The share from which on Redis counts as full: users may get no answers within minutes. */
const FULL_SHARE = 0.95;

/**
 * Conditions for a Redis that evicts data or is nearly full. The gateway does not start with an evicting Redis, so a
 * person or a failover must have changed the policy since. Pure.
 */
export function memoryConditions({ evicts, usedBytes, maxBytes }: RedisState): Condition[] {
  if (evicts !== undefined) return [{ cause: 'memory', text: evictionInWords(evicts), level: evicts }];
  if (maxBytes === 0 || usedBytes <= maxBytes * MEMORY_SHARE) return [];
  const [used, max] = [usedBytes, maxBytes].map((bytes) => Math.round(bytes / 1024 / 1024));
  const text = `${used} of ${max} MB are used. When it is full, no more messages are accepted.`;
  return [{ cause: 'memory', text, level: usedBytes > maxBytes * FULL_SHARE ? 'full' : 'nearly full' }];
}

/** Conditions for a Redis that cannot write its files, or that has no persistence although the settings require it. Pure. */
export function fileConditions({ unwritten, isOnDisk }: RedisState, isVolatileAccepted: boolean): Condition[] {
  if (unwritten !== undefined) {
    const text = `Redis cannot write its files (${unwritten}): what it accepted since is lost if it ends now.`;
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
    text: `The blob store (BLOB_URL) cannot be used (${why}), as ${process} sees it. Messages with files wait; all others are answered, and nothing is lost.`,
  };
}

/** The alert that a process uses another blob store than the rest of the installation. */
export function otherBlobStoreAlert(process: string): Alert {
  return {
    cause: 'blob-store',
    level: 'another store',
    text: `The blob store (BLOB_URL) of ${process} is not the one that the data in Redis refers to: this process and the others cannot read each other's files.`,
  };
}
