import type { Alert } from '../../../shared/flow/alert.ts';
import { evictionInWords, wordsOf } from '../../../shared/redis/keeping.ts';
import type { RedisState } from '../../../shared/redis/server-state.ts';
import type { Rules } from '../causes.ts';
import type { Condition } from '../incident.ts';

/** Causes that concern Redis, the blob store, and the messages that they hold. */
export const STORAGE = {
  ledger: {
    severity: 'page',
    endsBy: 'alert',
  },
  'lost-data': {
    severity: 'page',
    endsBy: 'fact',
    namesEach: true,
  },
  memory: {
    severity: 'page',
    endsBy: 'watch',
  },
  persistence: {
    severity: 'page',
    endsBy: 'watch',
  },
  'blob-store': {
    severity: 'page',
    endsBy: 'quiet',
    acts: [],
  },
} satisfies Rules;

/** The share of its memory from which on a Redis is nearly full. */
const MEMORY_SHARE = 0.8;

/** A Redis that evicts, as a start refuses: it became one by hand or by a failover; or one that is nearly full. Pure. */
export function memoryConditions({ evicts, usedBytes, maxBytes }: RedisState): Condition[] {
  if (evicts !== undefined) return [{ cause: 'memory', text: evictionInWords(evicts), level: evicts }];
  if (maxBytes === 0 || usedBytes <= maxBytes * MEMORY_SHARE) return [];
  const [used, max] = [usedBytes, maxBytes].map((bytes) => Math.round(bytes / 1024 / 1024));
  const text = `Redis is nearly full: ${used} of ${max} MB are used. When it is full, no more messages are accepted.`;
  return [{ cause: 'memory', text }];
}

/** A Redis that cannot write its files, or keeps none although nobody accepts that. Pure. */
export function fileConditions({ unwritten, isOnDisk }: RedisState, isVolatileAccepted: boolean): Condition[] {
  if (unwritten !== undefined) {
    const text = `Redis cannot write its files (${unwritten}): what it accepted since is lost if it ends now.`;
    return [{ cause: 'persistence', text, level: unwritten }];
  }
  if (isOnDisk !== false || isVolatileAccepted) return [];
  return [{ cause: 'persistence', text: wordsOf('volatile'), level: 'volatile' }];
}

/** A store of files and archives that takes or gives nothing just now, as one process sees it. */
export function blobStoreAlert(why: string, process: string): Alert {
  return {
    cause: 'blob-store',
    level: why,
    text: `The blob store (BLOB_URL) cannot be used (${why}), as ${process} sees it. Messages with files wait until it can, the others are answered; nothing is lost. Check the disk and the owner of the folder, or the bucket and its keys.`,
  };
}

/** A process with a store of its own: what the others put is not there. */
export function otherBlobStoreAlert(process: string): Alert {
  return {
    cause: 'blob-store',
    level: 'another store',
    text: `The blob store (BLOB_URL) of ${process} is not the one that the data in Redis refers to: files and archives that were put there cannot be read by this process, nor its own by the others. Give all workers the same store. If the earlier one is gone for good, see the runbook.`,
  };
}
