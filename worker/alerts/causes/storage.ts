import type { Alert } from '../../../shared/flow/alert.ts';
import type { Rules } from '../causes.ts';
import type { Condition } from '../incident.ts';

/** Causes that concern Redis, the blob store, and the messages that they hold. */
export const STORAGE = {
  ledger: {
    severity: 'page',
    endsBy: 'alert',
    acts: ['close'],
  },
  'lost-data': {
    severity: 'page',
    endsBy: 'fact',
    namesEach: true,
    acts: ['close'],
  },
  memory: {
    severity: 'page',
    endsBy: 'watch',
    acts: [],
  },
  persistence: {
    severity: 'page',
    endsBy: 'watch',
    acts: [],
  },
  'blob-store': {
    severity: 'page',
    endsBy: 'quiet',
    acts: [],
  },
} satisfies Rules;

/** A Redis that will soon accept no more messages. */
export function memoryAlert({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Condition {
  const [used, max] = [usedBytes, maxBytes].map((bytes) => Math.round(bytes / 1024 / 1024));
  return {
    cause: 'memory',
    text: `Redis is nearly full: ${used} of ${max} MB are used. When it is full, no more messages are accepted.`,
  };
}

/** A Redis whose data is not persisted to disk. `field` is the INFO field that says so. */
export function persistenceAlert(field: string): Condition {
  return {
    cause: 'persistence',
    text: `Redis cannot write its files (${field}): what it accepted since is lost if it ends now.`,
    level: field,
  };
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
