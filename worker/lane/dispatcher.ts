import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { untilNews as untilStreamHas } from '../../shared/redis/failover.ts';
import type { EntryId, Keys } from '../../shared/redis/keys.ts';
import type { Lane } from './lane.ts';
import type { TurnQueue } from './queue.ts';
import { reconcile } from './reconciler.ts';

export interface DispatcherParts {
  /** A connection of its own: it blocks. */
  blocking: RedisClient;
  keys: Keys;
  lane: Lane;
  queue: TurnQueue;
  /** Takes an entry out of the flow that names no chat. */
  discard: (entries: readonly EntryId[]) => Promise<void>;
  log: Logger;
  reach: ReachFailpoint;
}

/** Most entries admitted at once: dispatching in batches is 4 to 8 times as fast as one by one. */
const BATCH = 100;
const RETRY_MS = 500;

/**
 * Moves new entries from the stream into their lanes and makes each lane's head a job. Several dispatchers may run
 * side by side. Killed between the two steps, the reconciler finds the head that is no job.
 */
export function startDispatcher(parts: DispatcherParts): Service {
  const stopping = new AbortController();
  const running = dispatch(parts, stopping.signal);
  return {
    name: 'dispatcher',
    async stop() {
      stopping.abort();
      parts.blocking.disconnect();
      await running;
    },
  };
}

async function dispatch(parts: DispatcherParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const { newest, read, heads, broken, cancelled } = await parts.lane.admit(BATCH);
      if (read > 0) parts.reach('admitted');
      await parts.queue.add(heads);
      if (read > 0) parts.reach('job added');
      await parts.queue.hurry(cancelled);
      await parts.discard(broken);
      if (read < BATCH) await untilNews(parts, newest);
    } catch (error) {
      if (signal.aborted) return;
      parts.log.warn({ err: error }, 'dispatching failed; it is tried again');
      await pause(RETRY_MS, signal);
      await heal(parts);
    }
  }
}

/** Waits for an entry after the newest one read. It only wakes us: reading happens in `admit`, with the lane. */
async function untilNews(parts: DispatcherParts, newest: string): Promise<void> {
  await untilStreamHas(parts.blocking, parts.keys.inbound, newest, BLOCK_MS);
}

/** What was admitted may not be a job yet; and the group is gone when Redis lost its data. */
async function heal(parts: DispatcherParts): Promise<void> {
  try {
    await parts.lane.prepare();
    await reconcile(parts);
  } catch (error) {
    parts.log.debug({ err: error }, 'not healed yet');
  }
}
