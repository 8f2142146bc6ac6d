import type { ReadinessPart } from '../shared/app/health.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import { runLoop } from '../shared/base/loop.ts';
import { redisAddressOf } from '../shared/base/redis-address.ts';
import { connectRedis, isReadyFor, type RedisClient } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { removeErasedText } from '../shared/state/chat/erasures.ts';
import { FEATURES } from './features.ts';
import { startJobs } from './jobs.ts';
import { discardBroken, startDispatcher, startReconciler } from './lane/dispatcher.ts';
import { createLane } from './lane/lane.ts';
import { openQueue } from './lane/queue.ts';
import { createMediaStore } from './media/store.ts';
import { startArchivist } from './session/archive.ts';
import { openBlobs } from './shard-blobs.ts';
import type { ProcessEnv, ShardEnv } from './shard-env.ts';
import type { ProbeCalls } from './watch/endpoint-probe.ts';

/** Starts the services of a shard, such as the dispatcher, the job worker and the reconciler, and those of the features. */
export async function startShard(
  env: ProcessEnv,
  number: number,
): Promise<{ services: Service[]; readiness: ReadinessPart; probeCalls: ProbeCalls }> {
  const { settings, redisAddress } = env;
  const keys = keysOf(number);
  const redis = connectRedis(redisAddress, 'patient');
  const queueRedis = connectRedis(redisAddress, 'patient');
  const lane = createLane(redis, keys, settings.LANE_MAX_MESSAGES, settings.SESSION_IDLE_DAYS, env.chats);
  const queue = openQueue(queueRedis, keys);
  const { blobs, keeper } = openBlobs(env, redis, number);
  const media = createMediaStore({ ...env, redis, keys, blobs, retentionDays: settings.SESSION_RETENTION_DAYS });
  const ending = new AbortController();
  const discard = discardBroken(lane, env);
  const share = env.slots.share();
  const shard: ShardEnv = { ...env, keys, redis, blobs, media, lane, queue, discard, share, ending: ending.signal };
  await lane.prepare();
  const jobs = startJobs(shard, queueRedis, ending);
  return {
    probeCalls: jobs,
    services: [
      connectionService([redis, queueRedis]),
      { name: 'queue', stop: () => queue.close() },
      jobs,
      ...(keeper ? [keeper] : []),
      startArchivist(shard),
      startErasedTextCleaner(shard),
      startReconciler(shard, env.limits.reconcileEveryMs),
      ...FEATURES.flatMap((each) => each.start?.(shard) ?? []),
      startDispatcher(shard, keys, connectRedis(redisAddress, 'patient')),
    ],
    readiness: {
      name: `worker ${number}`,
      check: async () => ({ ready: jobs.isRunning() && isReadyFor(redis, keys.inbound) }),
    },
  };
}

const ERASURES_EVERY_MS = 5_000;
/** All erasures within this time share one rewrite of the files of Redis. */
const REWRITE_EVERY_MS = 60_000;

/** Removes erased text from the files of a private Redis. Retries failures, also after a restart of this process. */
function startErasedTextCleaner({ settings, log, redis, keys }: ShardEnv): Service {
  const isPrivate = redisAddressOf(settings) === undefined;
  return runLoop({
    name: 'erased text',
    round: async (signal) =>
      (await removeErasedText(redis, keys, isPrivate, signal)) ? REWRITE_EVERY_MS : ERASURES_EVERY_MS,
    retryMs: ERASURES_EVERY_MS,
    onError: (error) => log.warn({ err: error }, 'erased text is still in the files of Redis; it is tried again'),
  });
}

/** A service whose stop closes these connections. */
export function connectionService(redis: readonly RedisClient[]): Service {
  return {
    name: 'redis',
    async stop() {
      for (const connection of redis) connection.disconnect();
    },
  };
}
