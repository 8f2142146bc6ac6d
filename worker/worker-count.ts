import type { Service } from '../shared/base/lifecycle.ts';
import { runLoop } from '../shared/base/loop.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { WORKER_GONE_MS } from './watch/processes.ts';
import { countWorkers } from './watch/snapshot.ts';

const LOOK_EVERY_MS = 10_000;

/** How many worker processes there are, as far as is known: at least this one. */
export interface WorkerCount extends Service {
  current(): number;
}

/** Counts the worker processes that report, now and then. */
export function startWorkerCount(redis: RedisClient): WorkerCount {
  let count = 1;
  const loop = runLoop({
    name: 'worker count',
    async round() {
      count = Math.max(1, await countWorkers(redis, keysOf(0), Date.now() - WORKER_GONE_MS));
      return LOOK_EVERY_MS;
    },
    retryMs: LOOK_EVERY_MS,
    // The last count holds; a refusal by Telegram is obeyed in any case.
    onError: () => undefined,
  });
  return { ...loop, current: () => count };
}
