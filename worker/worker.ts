import type { ReadinessPart } from '../shared/app/health.ts';
import { cacheSpaceOf } from '../shared/base/cache-space.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { Logger } from '../shared/base/log.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { untilAway } from '../shared/redis/away.ts';
import { connectRedis, type RedisClient } from '../shared/redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../shared/redis/keys.ts';
import type { BreakerView } from '../shared/telegram/breaker.ts';
import { createSlots } from './lane/slots.ts';
import { startOversight } from './oversight.ts';
import type { WorkerPorts } from './ports.ts';
import { createFixedPartsCheck } from './recovery/fixed-parts.ts';
import { WindowCache } from './session/held-window.ts';
import { connections, startShard } from './shard.ts';
import { openTelegram } from './telegram.ts';

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
  const redis = connectRedis(given.redisAddress, 'patient');
  const { telegram, breaker, services: ofTelegram } = openTelegram(given, redis);
  const services = [...ofTelegram, given.tools, connections([redis])];
  const ports = { ...given, telegram };
  const shared = createProcessPorts(ports, breaker);
  const shards = await Promise.all(
    Array.from({ length: given.config.SHARDS }, (_, shard) => startShard(ports, shared, shard)),
  );
  const [first] = shards;
  if (first === undefined) throw new Error('SHARDS is 0: nothing would run');
  const { exportTrouble } = given.observability.telemetry;
  const self = { name: processName, running: shared.running, cached: shared.space, exportTrouble };
  const oversight = startOversight({ ...ports, ...first.probed, self });
  return {
    name: 'worker',
    readiness: [...shards.map((shard) => shard.readiness), ...oversight.readiness],
    async stop() {
      const stop = (shard: number, own: readonly Service[]) => stopUnlessAway(redis, shard, own, log);
      // All at once: in each shard turns may take their time to end.
      const ends = await Promise.all([...shards.map((shard, at) => stop(at, shard.services)), stop(0, [oversight])]);
      shared.hideSpace();
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

/** The parts that all shards of a process share: a chat's finding about the endpoint holds for the others. */
function createProcessPorts({ config, observability }: WorkerPorts, breaker: BreakerView) {
  const space = cacheSpaceOf(config.PROCESS_CACHE_MB);
  const readSpace = async () => [{ metric: METRIC.cacheUsed, value: space.usedBytes }];
  return {
    slots: createSlots(config.WORKER_CONCURRENCY),
    fixedParts: createFixedPartsCheck(),
    boundModels: new Set<string>(),
    /** The messages that this process is answering. */
    running: new Map<EntryId, ChatKey>(),
    /** Whether Telegram answers. */
    breaker,
    /** What is kept in memory of the chats of all shards: windows, and indexes of what was said. */
    space,
    hideSpace: observability.telemetry.observe([METRIC.cacheUsed], readSpace),
    windows: new WindowCache({ space }),
  };
}

/** See `createProcessPorts`. */
export type ProcessPorts = ReturnType<typeof createProcessPorts>;
