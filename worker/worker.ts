import type { ReadinessPart } from '../shared/app/health.ts';
import type { Config, RedisAddress } from '../shared/base/config.ts';
import type { ReachFailpoint } from '../shared/base/failpoint.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { Logger } from '../shared/base/log.ts';
import { METRIC, type Telemetry } from '../shared/base/telemetry.ts';
import { connectRedis, isReadyFor, type RedisClient } from '../shared/redis/connection.ts';
import { type EntryId, keysOf } from '../shared/redis/keys.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import { undecodableAlert } from './alerts/messages.ts';
import { createBudget, withBudget } from './ask/budget.ts';
import { startDispatcher } from './lane/dispatcher.ts';
import { createLane, type Lane } from './lane/lane.ts';
import { openQueue, openWorker, QUEUE_LIMITS, type QueueLimits } from './lane/queue.ts';
import { RECONCILE_EVERY_MS, startReconciler } from './lane/reconciler.ts';
import type { Settings } from './lane/settings.ts';
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
import { settingsOf } from './settings.ts';
import type { Exclusions } from './tools/exclusion.ts';
import { joinToolboxes } from './tools/joined.ts';
import { createRecall } from './tools/recall/recall.ts';
import type { Toolbox } from './tools/toolbox.ts';
import { createProcessor } from './turn/processor.ts';

export interface WorkerParts {
  config: Config;
  redisAddress: RedisAddress;
  model: Model;
  telegram: Telegram;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
  systemPrompt: string;
  /** What a summary must keep besides the usual, in the operator's own words; may be empty. */
  preserve: string;
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
interface ProcessParts extends WorkerParts {
  slots: Slots;
  fixedParts: FixedPartsCheck;
  boundModels: Set<string>;
  storm: StormGuard;
  settings: Settings;
}

/** How long running turns get when the process is asked to end; then they are handed back intact. */
const DRAIN_MS = 25_000;

/**
 * The worker of a process: for each shard a dispatcher, a job worker, a reconciler and an archivist, and one watchdog
 * and one alerter for all.
 */
export async function startWorker(parts: WorkerParts): Promise<Service & { readiness: ReadinessPart[] }> {
  const services: Service[] = [parts.tools];
  const shards = Array.from({ length: parts.config.SHARDS }, (_, shard) => shard);
  const stormRedis = connectRedis(parts.redisAddress, 'patient');
  services.push(connections([stormRedis]));
  const shared: ProcessParts = {
    ...parts,
    slots: createSlots(parts.config.WORKER_CONCURRENCY),
    fixedParts: createFixedPartsCheck(),
    boundModels: new Set(),
    storm: createStormGuard(stormRedis, { ...STORM_LIMITS, ...parts.limits }),
    settings: settingsOf(parts),
  };
  const started = await Promise.all(shards.map((shard) => startShard(shared, shard)));
  const oversight = startOversight(parts);
  services.push(...started.flatMap((shard) => shard.services), oversight);
  return {
    name: 'worker',
    readiness: [...started.map((shard) => shard.readiness), ...oversight.readiness],
    stop: () =>
      stopAll(services, (name, error) => parts.log.error({ err: error, service: name }, 'a service did not stop well')),
  };
}

async function startShard(
  parts: ProcessParts,
  shard: number,
): Promise<{ services: Service[]; readiness: ReadinessPart }> {
  const { config, telemetry, log, reach } = parts;
  const keys = keysOf(shard);
  const connect = () => connectRedis(parts.redisAddress, 'patient');
  const redis = connect();
  const queueRedis = connect();
  const lane = createLane(redis, keys, config.LANE_MAX_MESSAGES);
  const queue = openQueue(queueRedis, keys, telemetry);
  await lane.prepare();
  const discard = discardBroken(lane, telemetry, log);
  const shared = { lane, queue, discard, log, reach };
  const jobs = startJobs(parts, { redis, queueRedis, keys, lane, queue, discard });
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
        everyMs: parts.limits?.archiveEveryMs ?? ARCHIVE_EVERY_MS,
      }),
      startReconciler({ ...shared, everyMs: parts.limits?.reconcileEveryMs ?? RECONCILE_EVERY_MS }),
      startDispatcher({ ...shared, keys, blocking: connect() }),
    ],
    readiness: {
      name: `worker ${shard}`,
      check: async () => ({ ready: jobs.isRunning() && isReadyFor(redis, keys.inbound) }),
    },
  };
}

interface ShardParts {
  redis: RedisClient;
  queueRedis: RedisClient;
  keys: ReturnType<typeof keysOf>;
  lane: Lane;
  queue: ReturnType<typeof openQueue>;
  discard: (entries: readonly EntryId[]) => Promise<void>;
}

function startJobs(parts: ProcessParts, shard: ShardParts): Service & { isRunning(): boolean } {
  const { telemetry, log } = parts;
  const ending = new AbortController();
  const share = parts.slots.share();
  const { lane, queue, discard } = shard;
  const ask = askPorts(parts, shard);
  const drafts = createDrafts({
    telegram: parts.telegram,
    everyMs: parts.limits?.draftsEveryMs ?? DRAFTS_EVERY_MS,
    refreshMs: DRAFTS_REFRESH_MS,
  });
  const turn = { ask, telegram: parts.telegram, drafts, lane };
  const processor = createProcessor({ turn, queue, share, discard, ending: ending.signal });
  const limits = { ...QUEUE_LIMITS, ...parts.limits };
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
function askPorts(parts: ProcessParts, { redis, keys }: ShardParts) {
  const { config, settings, log, telemetry, reach } = parts;
  const media = createMediaStore(redis, keys, config.SESSION_RETENTION_DAYS);
  const loadKept = async (sha256: string) => (await media.load([sha256])).get(sha256);
  const recall = createRecall({ redis, keys, log, loadKept });
  const { exclude, excluded } = parts.tools;
  const tools = { ...joinToolboxes([recall, parts.tools]), exclude, excluded };
  const budget = createBudget(redis, keys, {
    chatDailyTokens: config.CHAT_DAILY_TOKENS,
    totalDailyTokens: config.TOTAL_DAILY_TOKENS,
  });
  const model = budget ? withBudget(parts.model, budget) : parts.model;
  const endpoint: Endpoint = {
    model,
    storm: parts.storm,
    boundModels: parts.boundModels,
    takesFixedParts: (failure, maxTokens, signal) =>
      parts.fixedParts(model, { ...fixedPartsOf(settings, tools.specs()), maxTokens }, failure, signal),
  };
  const store = { sessions: createSessions(redis, keys), media };
  return { settings, endpoint, tools, store, instruments: { telemetry, log, reach } };
}

/** An entry that names no chat has no user to answer: it is kept as a dead letter, and the operator is notified. */
function discardBroken(lane: Lane, telemetry: Telemetry, log: Logger): (entries: readonly EntryId[]) => Promise<void> {
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
