import type { ReadinessPart } from '../shared/app/health.ts';
import type { Config } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { Observability } from '../shared/base/observability.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { connectRedis, isReadyFor, type RedisClient } from '../shared/redis/connection.ts';
import { type ChatKey, type EntryId, keysOf, parseChatKey } from '../shared/redis/keys.ts';
import { createReminderBook } from '../shared/state/reminder/book.ts';
import { undecodableAlert } from './alerts/messages.ts';
import { startJobs } from './jobs.ts';
import { RECONCILE_EVERY_MS, startDispatcher, startReconciler } from './lane/dispatcher.ts';
import { createLane, type Lane } from './lane/lane.ts';
import { openQueue } from './lane/queue.ts';
import { REMINDERS_EVERY_MS, startReminding } from './reminders/reminding.ts';
import { ARCHIVE_EVERY_MS, startArchivist } from './session/archivist.ts';
import { openBlobs } from './shard-blobs.ts';
import type { Probed } from './watch/endpoint-probe.ts';
import type { ProcessPorts, WorkerPorts } from './worker.ts';

/** Starts the services of a shard: its dispatcher, job worker, reconciler, archivist and blob keeper. */
export async function startShard(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: number,
): Promise<{ services: Service[]; readiness: ReadinessPart; probed: Probed }> {
  const { config, observability } = ports;
  const { telemetry, log, reach } = observability;
  const keys = keysOf(shard);
  const connect = () => connectRedis(ports.redisAddress, 'patient');
  const redis = connect();
  const queueRedis = connect();
  const { blobs, keeper } = openBlobs(ports, redis, shard);
  const lane = createLane(redis, keys, config.LANE_MAX_MESSAGES, config.SESSION_IDLE_DAYS);
  const queue = openQueue(queueRedis, keys, telemetry);
  await lane.prepare();
  const discard = discardBroken(lane, observability);
  const service = { lane, queue, discard, log, reach };
  const jobs = startJobs(ports, shared, { redis, queueRedis, keys, blobs, lane, queue, discard });
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
      startReconciler({ ...service, everyMs: ports.limits?.reconcileEveryMs ?? RECONCILE_EVERY_MS }),
      startReminding({
        book: createReminderBook(redis, keys),
        isOpen: openChats(config),
        observability,
        minutesMin: config.REMINDER_MINUTES_MIN,
        everyMs: ports.limits?.remindersEveryMs ?? REMINDERS_EVERY_MS,
      }),
      startDispatcher({ ...service, keys, blocking: connect() }),
    ],
    readiness: {
      name: `worker ${shard}`,
      check: async () => ({ ready: jobs.isRunning() && isReadyFor(redis, keys.inbound) }),
    },
  };
}

/** An entry that names no chat has no user to answer: it is kept as a dead letter, and the operator is notified. */
function discardBroken(lane: Lane, { telemetry, log }: Observability): (entries: readonly EntryId[]) => Promise<void> {
  return async (entries) => {
    for (const entry of entries) {
      const record = {
        entry,
        outcome: 'failed',
        reason: 'undecodable',
        traceId: '',
        settledAtMs: lane.nowMs(),
        attempts: 0,
        recoveries: 0,
      } as const;
      const alert = JSON.stringify(undecodableAlert(entry));
      if (!(await lane.discard(entry, record, alert))) continue;
      telemetry.count(METRIC.outcomes, { outcome: record.outcome });
      log.error({ entry }, 'undecodable entry put aside');
    }
  };
}

/**
 * The chats that the bot still answers. A worker alone need not know the allow list: then it trusts what was accepted.
 */
function openChats({ TELEGRAM_ALLOWED_IDS: allowed }: Config): (chat: ChatKey) => boolean {
  if (allowed === 'everyone' || allowed.size === 0) return () => true;
  return (chat) => allowed.has(parseChatKey(chat)?.chatId ?? 0);
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
