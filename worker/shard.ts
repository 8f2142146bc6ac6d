import type { ReadinessPart } from '../shared/app/health.ts';
import type { AllowedIds } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import { runLoop } from '../shared/base/loop.ts';
import { redisAddressOf } from '../shared/base/redis-address.ts';
import { connectRedis, isReadyFor, type RedisClient } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { allowedNow } from '../shared/state/chat/allowed.ts';
import { removeErasedText } from '../shared/state/chat/erasures.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import { startJobs } from './jobs.ts';
import { discardBroken, RECONCILE_EVERY_MS, startDispatcher, startReconciler } from './lane/dispatcher.ts';
import { createLane } from './lane/lane.ts';
import { openQueue } from './lane/queue.ts';
import type { WorkerPorts } from './ports.ts';
import { REMINDERS_EVERY_MS, startReminding } from './reminders/reminding.ts';
import { ARCHIVE_EVERY_MS, startArchivist } from './session/archive.ts';
import { openBlobs } from './shard-blobs.ts';
import type { Probed } from './watch/endpoint-probe.ts';
import type { ProcessPorts } from './worker.ts';

/** Opens what the services of a shard work with. Connects, and touches nothing yet. */
function openShard(ports: WorkerPorts, shard: number) {
  const { config, observability, redisAddress } = ports;
  const keys = keysOf(shard);
  const redis = connectRedis(redisAddress, 'patient');
  const queueRedis = connectRedis(redisAddress, 'patient');
  const lane = createLane(redis, keys, config.LANE_MAX_MESSAGES, config.SESSION_IDLE_DAYS, ports.files.chats);
  const queue = openQueue(queueRedis, keys);
  /** `blobs` is absent where the bytes of files and archives are kept in Redis. */
  const { blobs, keeper } = openBlobs(ports, redis, shard);
  return { redis, queueRedis, keys, blobs, keeper, lane, queue, discard: discardBroken(lane, observability) };
}

/** See `openShard`. */
export type ShardPorts = ReturnType<typeof openShard>;

/** Starts the services of a shard: its dispatcher, job worker, reconciler, archivist, blob keeper and cleaner of erased text. */
export async function startShard(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: number,
): Promise<{ services: Service[]; readiness: ReadinessPart; probed: Probed }> {
  const { config, observability } = ports;
  const { telemetry, log, reach } = observability;
  const opened = openShard(ports, shard);
  const { redis, queueRedis, keys, blobs, keeper, lane, queue, discard } = opened;
  await lane.prepare();
  const service = { lane, queue, discard, telemetry, log, reach };
  const jobs = startJobs(ports, shared, opened);
  return {
    probed: jobs,
    services: [
      connections([redis, queueRedis]),
      { name: 'queue', stop: () => queue.close() },
      jobs,
      ...(keeper ? [keeper] : []),
      startArchivist({
        source: { redis, keys, blobs },
        retentionDays: config.SESSION_RETENTION_DAYS,
        ledgerDays: config.LEDGER_RETENTION_DAYS,
        log,
        everyMs: ports.limits?.archiveEveryMs ?? ARCHIVE_EVERY_MS,
        reach,
      }),
      startErasedTextCleaner(ports, opened),
      startReconciler({ ...service, everyMs: ports.limits?.reconcileEveryMs ?? RECONCILE_EVERY_MS }),
      startReminding({
        book: createReminderBook(redis, keys),
        allowed: allowedIn(redis, config.TELEGRAM_ALLOWED_IDS),
        observability,
        minutesMin: config.REMINDER_MINUTES_MIN,
        everyMs: ports.limits?.remindersEveryMs ?? REMINDERS_EVERY_MS,
      }),
      startDispatcher({ ...service, keys, blocking: connectRedis(ports.redisAddress, 'patient') }),
    ],
    readiness: {
      name: `worker ${shard}`,
      check: async () => ({ ready: jobs.isRunning() && isReadyFor(redis, keys.inbound) }),
    },
  };
}

const ERASURES_EVERY_MS = 5_000;
/** All erasures of this time share a rewrite. */
const REWRITE_EVERY_MS = 60_000;

/** Removes erased text from the files of the private Redis. A removal that a crash interrupts is repeated. */
function startErasedTextCleaner({ config, observability: { log } }: WorkerPorts, { redis, keys }: ShardPorts): Service {
  const isPrivate = redisAddressOf(config) === undefined;
  return runLoop({
    name: 'erased text',
    round: async (signal) =>
      (await removeErasedText(redis, keys, isPrivate, signal)) ? REWRITE_EVERY_MS : ERASURES_EVERY_MS,
    retryMs: ERASURES_EVERY_MS,
    onError: (error) => log.warn({ err: error }, 'erased text is still in the files of Redis; it is tried again'),
  });
}

/** Whom the bot answers now. A worker alone need not know the allow list: then it trusts what was accepted. */
function allowedIn(redis: RedisClient, base: AllowedIds): () => Promise<AllowedIds> {
  return allowedNow(redis, base !== 'everyone' && base.size === 0 ? 'everyone' : base);
}

/** Connections that end with what uses them. */
export function connections(redis: readonly RedisClient[]): Service {
  return {
    name: 'redis',
    async stop() {
      for (const connection of redis) connection.disconnect();
    },
  };
}
