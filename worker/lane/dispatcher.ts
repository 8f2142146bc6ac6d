import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { untilNews } from '../../shared/redis/failover.ts';
import type { EntryId, Keys } from '../../shared/redis/keys.ts';
import type { Lane } from './lane.ts';
import type { TurnQueue } from './queue.ts';
import { reconcile } from './reconciler.ts';

export interface DispatcherPorts {
  /** Its own connection, because it blocks. */
  blocking: RedisClient;
  keys: Keys;
  lane: Lane;
  queue: TurnQueue;
  /** Removes entries that name no chat from the flow. */
  discard: (entries: readonly EntryId[]) => Promise<void>;
  log: Logger;
  reach: ReachFailpoint;
}

/** Most entries admitted at once: batches are 4 to 8 times as fast as single entries. */
const BATCH = 100;
const RETRY_MS = 500;

/**
 * Moves new entries from the stream into their lanes and makes each lane's head a job. Several dispatchers may run side
 * by side. If one is killed between the two steps, the reconciler finds the head that is no job.
 */
export function startDispatcher(ports: DispatcherPorts): Service {
  let mustHeal = false;
  const loop = runLoop({
    name: 'dispatcher',
    async round() {
      if (mustHeal) await heal(ports);
      mustHeal = true;
      await dispatch(ports);
      mustHeal = false;
      return 0;
    },
    retryMs: RETRY_MS,
    onError: (error) => ports.log.warn({ err: error }, 'dispatching failed; it is tried again'),
  });
  return {
    name: loop.name,
    async stop() {
      const stopped = loop.stop();
      const isBetweenTries = ports.blocking.status === 'reconnecting';
      ports.blocking.disconnect();
      // ioredis then neither sends a read that waits for the next try, nor lets it fail.
      if (!isBetweenTries) await stopped;
    },
  };
}

/** Moves new entries, and waits for more when there are none left. */
async function dispatch({ lane, queue, discard, reach, ...ports }: DispatcherPorts): Promise<void> {
  const { newest, read, heads, broken, cancelled } = await lane.admit(BATCH);
  if (read > 0) reach('admitted');
  await queue.add(heads);
  if (read > 0) reach('job added');
  await queue.promote(cancelled);
  await discard(broken);
  // This read only wakes us: `admit` reads the entries, together with the lane.
  if (read < BATCH) await untilNews(ports.blocking, ports.keys.inbound, newest, BLOCK_MS);
}

/** Admitted messages may not be jobs yet, and the group is gone when Redis lost its data. */
async function heal(ports: DispatcherPorts): Promise<void> {
  try {
    await ports.lane.prepare();
    await reconcile(ports);
  } catch (error) {
    ports.log.debug({ err: error }, 'not healed yet');
  }
}
