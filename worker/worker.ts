import type { ReadinessPart } from '../shared/app/health.ts';
import type { Root } from '../shared/app/process.ts';
import { cacheSpaceOf } from '../shared/base/cache-space.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { Logger } from '../shared/base/log.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { untilAway } from '../shared/redis/away.ts';
import { connectRedis, type RedisClient } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { createSlots } from './lane/slots.ts';
import { LIMITS, type Limits } from './limits.ts';
import type { Model } from './model/port.ts';
import { createFixedPartsCheck } from './recovery/fixed-parts.ts';
import { WindowCache } from './session/held-window.ts';
import type { SettingFiles } from './setting-files.ts';
import { connectionService, startShard } from './shard.ts';
import type { ProcessEnv } from './shard-env.ts';
import { openTelegram } from './telegram.ts';
import { serverTools } from './tools/server-tools.ts';
import { startOversight } from './watch/oversight.ts';

/** How long Redis must be silent to count as away: longer than the longest wait between two tries to connect. */
const AWAY_MS = 5_000;
const REDIS_AWAY = 'Redis is away, so running turns are left: they run again when their locks have expired';

/** The components of a worker, in addition to its root. */
export interface WorkerParts {
  model: Model;
  files: Pick<SettingFiles, 'systemPrompt' | 'preserve' | 'prices' | 'chats'>;
  /** The tools of MCP servers. The worker stops them when it stops. */
  tools: ProcessEnv['tools'] & Service;
  /** Limits that tests shorten. */
  limits?: Partial<Limits>;
}

/** Starts the worker of a process: the services of each shard, and the watchdog, the alerter and others for all shards. */
export async function startWorker(root: Root, parts: WorkerParts): Promise<Service & { readiness: ReadinessPart[] }> {
  const { log, telemetry } = root;
  const redis = connectRedis(root.redisAddress, 'patient');
  const limits = { ...LIMITS, ...parts.limits };
  const { telegram, breaker, services: telegramServices } = openTelegram(root, limits, redis);
  const services = [...telegramServices, parts.tools, connectionService([redis])];
  const cache = cacheSpaceOf(root.settings.PROCESS_CACHE_MB);
  const hideCache = telemetry.observe([METRIC.cacheUsed], async () => [
    { metric: METRIC.cacheUsed, value: cache.usedBytes },
  ]);
  const env: ProcessEnv = {
    ...root,
    limits,
    settings: { ...root.settings, ...parts.files, serverTools: serverTools(root.settings) },
    chats: parts.files.chats,
    telegram,
    breaker,
    model: parts.model,
    tools: parts.tools,
    slots: createSlots(root.settings.WORKER_CONCURRENCY),
    fixedParts: createFixedPartsCheck(),
    boundModels: new Set(),
    running: new Map(),
    cache,
    windows: new WindowCache({ space: cache }),
  };
  const shards = await Promise.all(Array.from({ length: root.settings.SHARDS }, (_, shard) => startShard(env, shard)));
  const [first] = shards;
  if (first === undefined) throw new Error('SHARDS is 0: nothing would run');
  const oversight = startOversight(env, first.probeCalls);
  return {
    name: 'worker',
    readiness: [...shards.map((shard) => shard.readiness), ...oversight.readiness],
    async stop() {
      const stop = (shard: number, own: readonly Service[]) => stopUnlessAway(redis, shard, own, log);
      // Stop all shards at once, since the turns of each may take up to `drainMs` to end.
      const ends = await Promise.all([...shards.map((shard, at) => stop(at, shard.services)), stop(0, [oversight])]);
      hideCache();
      // The turns of a shard that did not stop still use the shared services.
      if (ends.includes('left')) log.warn(REDIS_AWAY);
      else await stopAll(services, log);
    },
  };
}

/**
 * Stops services of a shard. Returns `left`, without waiting for them, if the shard's Redis does not answer for `AWAY_MS`,
 * because the services would wait for Redis without end and could not hand their turns back.
 */
async function stopUnlessAway(
  redis: RedisClient,
  shard: number,
  services: readonly Service[],
  log: Logger,
): Promise<'stopped' | 'left'> {
  const over = new AbortController();
  const stop = stopAll(services, log).then(() => 'stopped' as const);
  const outage = untilAway(redis, keysOf(shard).inbound, AWAY_MS, over.signal).then(() => 'left' as const);
  const end = await Promise.race([stop, outage]);
  over.abort();
  return end;
}
