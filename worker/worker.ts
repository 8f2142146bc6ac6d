import type { ReadinessPart } from '../shared/app/health.ts';
import type { Config } from '../shared/base/config.ts';
import type { Instruments } from '../shared/base/instruments.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { RedisAddress } from '../shared/base/redis-address.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { connectRedis, isReadyFor, type RedisClient } from '../shared/redis/connection.ts';
import { type EntryId, keysOf } from '../shared/redis/keys.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import { undecodableAlert } from './alerts/messages.ts';
import { createBudget, withBudget } from './ask/budget.ts';
import { startDispatcher } from './lane/dispatcher.ts';
import { createLane, type Lane } from './lane/lane.ts';
import { openQueue, openWorker, QUEUE_LIMITS, type QueueLimits } from './lane/queue.ts';
import { RECONCILE_EVERY_MS, startReconciler } from './lane/reconciler.ts';
import { createSlots, type Slots } from './lane/slots.ts';
import { createMediaStore } from './media/store.ts';
import type { Model } from './model/port.ts';
import { type OversightLimits, startOversight } from './oversight.ts';
import type { Endpoint } from './recovery/endpoint.ts';
import { createFixedPartsCheck, type FixedPartsCheck, fixedPartsOf } from './recovery/fixed-parts.ts';
import { createStormGuard, STORM_LIMITS, type StormGuard, type StormLimits } from './recovery/storm.ts';
import { createDrafts, DRAFTS_EVERY_MS, DRAFTS_REFRESH_MS } from './reply/drafts.ts';
import { ARCHIVE_EVERY_MS, startArchivist } from './session/archivist.ts';
import { createSessions } from './session/store.ts';
import { type Prompts, settingsOf } from './settings.ts';
import type { Exclusions } from './tools/exclusion.ts';
import { joinToolboxes } from './tools/joined.ts';
import { createRecall } from './tools/recall/recall.ts';
import type { Toolbox } from './tools/toolbox.ts';
import { createProcessor } from './turn/processor.ts';

export interface WorkerPorts {
  config: Config;
  redisAddress: RedisAddress;
  model: Model;
  telegram: Telegram;
  instruments: Instruments;
  prompts: Prompts;
  /** The tools of other servers; they stop with the worker. */
  tools: Toolbox & Service & Exclusions;
  /** Shorter than the defaults in tests of crashes. */
  limits?: Partial<
    QueueLimits & { reconcileEveryMs: number; drainMs: number; archiveEveryMs: number } & {
      draftsEveryMs: number;
      waitingNoticeMs: number;
      summaryPatienceMs: number;
      toolServerDownMs: number;
    } & OversightLimits &
      StormLimits
  >;
}

/** Shared by all shards of a process: what one chat shows about the endpoint holds for the others. */
interface ProcessPorts {
  slots: Slots;
  fixedParts: FixedPartsCheck;
  boundModels: Set<string>;
  storm: StormGuard;
}

/** How long running turns get when the process is asked to end; then they are handed back intact. */
const DRAIN_MS = 25_000;

/**
 * The worker of a process: for each shard a dispatcher, a job worker, a reconciler and an archivist, and one watchdog
 * and one alerter for all.
 */
export async function startWorker(ports: WorkerPorts): Promise<Service & { readiness: ReadinessPart[] }> {
  const { log } = ports.instruments;
  const services: Service[] = [ports.tools];
  const shards = Array.from({ length: ports.config.SHARDS }, (_, shard) => shard);
  const stormRedis = connectRedis(ports.redisAddress, 'patient');
  services.push(connections([stormRedis]));
  const shared: ProcessPorts = {
    slots: createSlots(ports.config.WORKER_CONCURRENCY),
    fixedParts: createFixedPartsCheck(),
    boundModels: new Set(),
    storm: createStormGuard(stormRedis, { ...STORM_LIMITS, ...ports.limits }),
  };
  const started = await Promise.all(shards.map((shard) => startShard(ports, shared, shard)));
  const oversight = startOversight({ ...ports, log });
  services.push(...started.flatMap((shard) => shard.services), oversight);
  return {
    name: 'worker',
    readiness: [...started.map((shard) => shard.readiness), ...oversight.readiness],
    stop: () =>
      stopAll(services, (name, error) => log.error({ err: error, service: name }, 'a service did not stop well')),
  };
}

async function startShard(
  ports: WorkerPorts,
  shared: ProcessPorts,
  shard: number,
): Promise<{ services: Service[]; readiness: ReadinessPart }> {
  const { config, instruments } = ports;
  const { telemetry, log, reach } = instruments;
  const keys = keysOf(shard);
  const connect = () => connectRedis(ports.redisAddress, 'patient');
  const redis = connect();
  const queueRedis = connect();
  const lane = createLane(redis, keys, config.LANE_MAX_MESSAGES);
  const queue = openQueue(queueRedis, keys, telemetry);
  await lane.prepare();
  const discard = discardBroken(lane, instruments);
  const service = { lane, queue, discard, log, reach };
  const jobs = startJobs(ports, shared, { redis, queueRedis, keys, lane, queue, discard });
  return {
    services: [
      connections([redis, queueRedis]),
      { name: 'queue', stop: () => queue.close() },
      jobs,
      startArchivist({
        redis,
        keys,
        retentionDays: config.SESSION_RETENTION_DAYS,
        log,
        everyMs: ports.limits?.archiveEveryMs ?? ARCHIVE_EVERY_MS,
      }),
      startReconciler({ ...service, everyMs: ports.limits?.reconcileEveryMs ?? RECONCILE_EVERY_MS }),
      startDispatcher({ ...service, keys, blocking: connect() }),
    ],
    readiness: {
      name: `worker ${shard}`,
      check: async () => ({ ready: jobs.isRunning() && isReadyFor(redis, keys.inbound) }),
    },
  };
}

interface ShardPorts {
  redis: RedisClient;
  queueRedis: RedisClient;
  keys: ReturnType<typeof keysOf>;
  lane: Lane;
  queue: ReturnType<typeof openQueue>;
  discard: (entries: readonly EntryId[]) => Promise<void>;
}

function startJobs(ports: WorkerPorts, shared: ProcessPorts, shard: ShardPorts): Service & { isRunning(): boolean } {
  const { telemetry, log } = ports.instruments;
  const ending = new AbortController();
  const share = shared.slots.share();
  const { lane, queue, discard } = shard;
  const ask = askPorts(ports, shared, shard);
  const drafts = createDrafts({
    telegram: ports.telegram,
    everyMs: ports.limits?.draftsEveryMs ?? DRAFTS_EVERY_MS,
    refreshMs: DRAFTS_REFRESH_MS,
  });
  const turn = { ask, telegram: ports.telegram, drafts, lane };
  const processor = createProcessor({ turn, queue, share, discard, ending: ending.signal });
  const limits = { ...QUEUE_LIMITS, ...ports.limits };
  const worker = openWorker(shard.queueRedis, shard.keys, telemetry, { share, limits }, processor);
  worker.on('error', (error) => log.warn({ err: error }, 'the job worker had trouble'));
  worker.on('failed', (job, error) =>
    log.error({ err: error, entry: job?.data.entry }, 'a job failed; it is run again'),
  );
  void worker.run();
  return {
    name: 'jobs',
    isRunning: () => worker.isRunning(),
    async stop() {
      const timer = setTimeout(() => ending.abort(), limits.drainMs ?? DRAIN_MS);
      await worker.close();
      clearTimeout(timer);
    },
  };
}

/** What the model is asked with in the chats of one shard. */
function askPorts(ports: WorkerPorts, shared: ProcessPorts, { redis, keys }: ShardPorts) {
  const { config, instruments } = ports;
  const settings = settingsOf(ports);
  const media = createMediaStore(redis, keys, config.SESSION_RETENTION_DAYS);
  const loadKept = async (sha256: string) => (await media.load([sha256])).get(sha256);
  const recall = createRecall({ redis, keys, log: instruments.log, loadKept });
  const { exclude, excluded } = ports.tools;
  const tools = { ...joinToolboxes([recall, ports.tools]), exclude, excluded };
  const budget = createBudget(redis, keys, {
    chatDailyTokens: config.CHAT_DAILY_TOKENS,
    totalDailyTokens: config.TOTAL_DAILY_TOKENS,
  });
  const model = budget ? withBudget(ports.model, budget) : ports.model;
  const endpoint: Endpoint = {
    model,
    storm: shared.storm,
    boundModels: shared.boundModels,
    takesFixedParts: (failure, maxTokens, signal) =>
      shared.fixedParts(model, { ...fixedPartsOf(settings, tools.specs()), maxTokens }, failure, signal),
  };
  const store = { sessions: createSessions(redis, keys), media };
  return { settings, endpoint, tools, store, instruments };
}

/** An entry that names no chat has no user to answer: it is kept as a dead letter, and the operator is notified. */
function discardBroken(lane: Lane, { telemetry, log }: Instruments): (entries: readonly EntryId[]) => Promise<void> {
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

function connections(redis: readonly RedisClient[]): Service {
  return {
    name: 'redis',
    async stop() {
      for (const connection of redis) connection.disconnect();
    },
  };
}
