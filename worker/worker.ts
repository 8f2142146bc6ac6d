import type { ReadinessPart } from '../shared/app/health.ts';
import type { Config } from '../shared/base/config.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { Logger } from '../shared/base/log.ts';
import type { Observability } from '../shared/base/observability.ts';
import type { RedisAddress } from '../shared/base/redis-address.ts';
import { untilAway } from '../shared/redis/away.ts';
import { connectRedis, type RedisClient } from '../shared/redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../shared/redis/keys.ts';
import type { StormLimits } from '../shared/state/provider/storm.ts';
import { type BreakerView, startTelegramBreaker } from '../shared/telegram/breaker.ts';
import type { BreakerLimits } from '../shared/telegram/breaker-state.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import { holdBack } from '../shared/telegram/held-back.ts';
import { paceTelegram } from '../shared/telegram/pacing.ts';
import type { BlobLimits } from './blob/keeper.ts';
import type { QueueLimits } from './lane/queue.ts';
import { createSlots, type Slots } from './lane/slots.ts';
import type { Model } from './model/port.ts';
import { type OversightLimits, startOversight } from './oversight.ts';
import { createFixedPartsCheck, type FixedPartsCheck } from './recovery/fixed-parts.ts';
import { createStormGuard, STORM_LIMITS, type StormGuard } from './recovery/storm.ts';
import { WindowCache } from './session/window-cache.ts';
import type { SettingFiles } from './setting-files.ts';
import { connections, startShard } from './shard.ts';
import type { Toolbox } from './tools/toolbox.ts';
import type { Exclusions } from './tools/toolboxes.ts';
import { startWorkerCount } from './worker-count.ts';

export interface WorkerPorts {
  config: Config;
  redisAddress: RedisAddress;
  model: Model;
  telegram: Telegram;
  observability: Observability;
  files: Pick<SettingFiles, 'systemPrompt' | 'preserve' | 'prices'>;
  /** The tools of other servers; they stop with the worker. */
  tools: Toolbox & Service & Exclusions;
  /** Shorter than the defaults in tests of crashes. */
  limits?: Partial<
    QueueLimits & { reconcileEveryMs: number; drainMs: number; archiveEveryMs: number; remindersEveryMs: number } & {
      draftsEveryMs: number;
      statusAfterMs: number;
      statusEveryMs: number;
      waitingNoticeMs: number;
      summaryPatienceMs: number;
      doubtWaitMs: number;
      summaryTimeMs: number;
      summaryIdleMs: number;
      toolServerDownMs: number;
      modelLivesEveryMs: number;
    } & BlobLimits &
      BreakerLimits &
      OversightLimits &
      StormLimits
  >;
}

/** Shared by all shards of a process: what one chat shows about the endpoint holds for the others. */
export interface ProcessPorts {
  slots: Slots;
  fixedParts: FixedPartsCheck;
  boundModels: Set<string>;
  /** The messages that this process is answering. */
  running: Map<EntryId, ChatKey>;
  storm: StormGuard;
  /** Whether Telegram answers. */
  breaker: BreakerView;
  /** What is decoded of the sessions of all shards. */
  windows: WindowCache;
}

/** Longer than the longest wait between two tries to connect. */
const AWAY_MS = 5_000;
const LEFT = 'Redis is away, so running turns are left: they run again when their locks have expired';

/**
 * The worker of a process: for each shard a dispatcher, a job worker, a reconciler, an archivist and a blob keeper, and
 * one watchdog and one alerter for all. `processName` is its name among all processes; see `nameProcess`.
 */
export async function startWorker(
  given: WorkerPorts,
  processName: string,
): Promise<Service & { readiness: ReadinessPart[] }> {
  const { log } = given.observability;
  const services: Service[] = [given.tools];
  const redis = connectRedis(given.redisAddress, 'patient');
  services.push(connections([redis]));
  const breaker = startTelegramBreaker({
    telegram: given.telegram,
    redis: connectRedis(given.redisAddress, 'impatient'),
    keys: keysOf(0),
    log,
    limits: given.limits,
  });
  services.push(breaker);
  const held = { ...given, telegram: holdBack(given.telegram, breaker) };
  const ports = given.config.TELEGRAM_PACING ? paced(held, redis, services) : held;
  const shared: ProcessPorts = {
    slots: createSlots(ports.config.WORKER_CONCURRENCY),
    fixedParts: createFixedPartsCheck(),
    boundModels: new Set(),
    running: new Map(),
    storm: createStormGuard(redis, { ...STORM_LIMITS, ...ports.limits }),
    breaker,
    windows: new WindowCache(),
  };
  const shards = await Promise.all(
    Array.from({ length: given.config.SHARDS }, (_, shard) => startShard(ports, shared, shard)),
  );
  const [first] = shards;
  if (first === undefined) throw new Error('SHARDS is 0: nothing would run');
  const self = { name: processName, running: shared.running };
  const oversight = startOversight({ ...ports, ...first.probed, telemetry: given.observability.telemetry, log, self });
  return {
    name: 'worker',
    readiness: [...shards.map((shard) => shard.readiness), ...oversight.readiness],
    async stop() {
      const stop = (shard: number, own: readonly Service[]) => stopUnlessAway(redis, shard, own, log);
      // All at once: in each shard turns may take their time to end.
      const ends = await Promise.all([...shards.map((shard, at) => stop(at, shard.services)), stop(0, [oversight])]);
      // Turns that are left still use the rest.
      if (ends.includes('left')) log.warn(LEFT);
      else await stopAll(services, log);
    },
  };
}

/**
 * Stops services of a shard. While its server is away they would wait for it without end, and could hand nothing back:
 * they are left.
 */
async function stopUnlessAway(
  redis: RedisClient,
  shard: number,
  services: readonly Service[],
  log: Logger,
): Promise<'stopped' | 'left'> {
  const over = new AbortController();
  const stopped = stopAll(services, log).then(() => 'stopped' as const);
  const away = untilAway(redis, keysOf(shard).inbound, AWAY_MS, over.signal).then(() => 'left' as const);
  const end = await Promise.race([stopped, away]);
  over.abort();
  return end;
}

/** What shows something in a chat is sent as fast as Telegram allows, and no faster. */
function paced(ports: WorkerPorts, redis: RedisClient, services: Service[]): WorkerPorts {
  const workers = startWorkerCount(redis);
  services.unshift(workers);
  return { ...ports, telegram: paceTelegram(ports.telegram, () => workers.current()) };
}
