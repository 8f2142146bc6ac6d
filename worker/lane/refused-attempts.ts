import { pause } from '../../shared/base/lifecycle.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';

/** What is done in Redis about refused attempts. Contract: each rejects as Redis does, and may be repeated. */
export interface RefusedAttemptPorts {
  /** Ends the attempt with this fencing token as if it had not begun. */
  release(entry: EntryId, fence: string): Promise<unknown>;
  /** Rejects while Redis takes no writes. */
  proveWrites(): Promise<void>;
}

/** How long a release waits before it is tried again. */
const RETRY_MS = 1_000;

/**
 * The attempts of this process that ended because Redis refused a write. Such an attempt counts neither
 * as an attempt nor as a process death; Redis gets this correction as soon as it accepts writes. After a refusal, no
 * attempt begins until a test write succeeds, so that no model call is paid for an answer that cannot be stored.
 */
export function createRefusedAttempts({ release, proveWrites }: RefusedAttemptPorts) {
  const unreleased = new Map<EntryId, string>();
  let isRefusing = false;
  const releaseNow = async (entry: EntryId): Promise<void> => {
    const fence = unreleased.get(entry);
    if (fence === undefined) return;
    await release(entry, fence);
    if (unreleased.get(entry) === fence) unreleased.delete(entry);
  };
  return {
    /** Call before an attempt begins: releases the entry's refused attempt, and rejects while Redis refuses writes. */
    async beforeBegin(entry: EntryId): Promise<void> {
      await releaseNow(entry);
      if (isRefusing) await proveWrites();
      isRefusing = false;
    },
    /** An attempt threw. If Redis refused a write, releases the attempt, now or later, until `ending` aborts. Never rejects. */
    async ended(entry: EntryId, fence: string, error: unknown, ending: AbortSignal): Promise<void> {
      if (refusalOf(error) === undefined) return;
      isRefusing = true;
      unreleased.set(entry, fence);
      while (unreleased.has(entry) && !ending.aborted) {
        try {
          await releaseNow(entry);
        } catch {
          await pause(RETRY_MS, ending);
        }
      }
    },
  };
}
