import { join } from 'node:path';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { GaugeReading } from '../../shared/base/meters.ts';
import { METRIC, type Telemetry } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { CAUSES } from '../alerts/cause.ts';
import { WORKER_GONE_MS } from './processes.ts';
import { countWorkers, createSnapshotReader, type ShardSnapshot, type Snapshot } from './snapshot.ts';

export interface StateGaugesPorts {
  /** A fail-fast connection; it outlives the gauges. */
  redis: RedisClient;
  shards: number;
  telemetry: Telemetry;
  log: Logger;
}

/** What a snapshot does not hold, of one shard. */
interface Waiting {
  nowMs: number;
  lanes: number;
  deepest: number;
  delayed: number;
  alerts: number;
}

/** The state of the installation at one moment. */
export interface InstallationState {
  snapshot: Snapshot;
  waiting: readonly Waiting[];
  /** Notices that the operator has not got. */
  notices: number;
  workers: number;
}

const GAUGES = [
  METRIC.pending,
  METRIC.unansweredAge,
  METRIC.lanes,
  METRIC.laneDepth,
  METRIC.jobs,
  METRIC.deadLetters,
  METRIC.alertBacklog,
  METRIC.incidents,
  METRIC.pollAge,
  METRIC.providerFailing,
  METRIC.telegramAway,
  METRIC.redisMemoryShare,
  METRIC.redisMemory,
  METRIC.redisUnwritten,
  METRIC.redisUp,
  METRIC.workers,
] as const;
/** A collector and a scrape may ask at the same time. */
const FRESH_MS = 1_000;
const LANES_MAX = 5_000;

/**
 * Shows the state of the installation as gauges. Redis is read when they are exported or scraped, and then at most once a
 * second; never when nobody asks.
 */
export function startStateGauges({ redis, shards, telemetry, log }: StateGaugesPorts): Service {
  const read = createStateReader(redis, shards);
  let last: { atMs: number; readings: Promise<readonly GaugeReading[]> } | undefined;
  const end = telemetry.observe(GAUGES, () => {
    if (last === undefined || performance.now() - last.atMs > FRESH_MS) {
      const readings = read().then(gaugesOf, (error: unknown) => {
        log.debug({ err: error }, 'the gauges could not be read');
        return [{ metric: METRIC.redisUp, value: 0 }];
      });
      last = { atMs: performance.now(), readings };
    }
    return last.readings;
  });
  return {
    name: 'state gauges',
    stop: async () => end(),
  };
}

/** Reads the state of the installation. Rejects when Redis cannot be reached. */
export function createStateReader(redis: RedisClient, shards: number): () => Promise<InstallationState> {
  const keys = keysOf(0);
  const book = createBookStore(redis);
  // Every message without an answer counts, however young.
  const readSnapshot = createSnapshotReader(redis, shards, 0);
  const readLanes = bindScript<[number, number, number, number, number]>(redis, join(import.meta.dirname, 'lanes.lua'));
  const waitingIn = async (shard: number): Promise<Waiting> => {
    const { lanes: all, jobsDelayed, alerts: queued, absent, lanePrefix } = keysOf(shard);
    const reply = await readLanes([all, jobsDelayed, queued, absent], [lanePrefix, LANES_MAX]);
    const [nowMs, lanes, deepest, delayed, alerts] = reply;
    return { nowMs, lanes, deepest, delayed, alerts };
  };
  return async () => {
    const waiting = await Promise.all(Array.from({ length: shards }, (_, shard) => waitingIn(shard)));
    const nowMs = waiting[0]?.nowMs ?? Date.now();
    const stored = await book.read();
    const open = new Set([...stored.book].filter(([, { isOpen }]) => isOpen).map(([id]) => id));
    const [snapshot, notices, workers] = await Promise.all([
      readSnapshot({ nowMs, open }),
      redis.xlen(keys.notices),
      countWorkers(redis, keys, nowMs - WORKER_GONE_MS),
    ]);
    return { snapshot, waiting, notices, workers };
  };
}

/** The gauges of a state. Pure. */
export function gaugesOf({ snapshot, waiting, notices, workers }: InstallationState): GaugeReading[] {
  const { shards, redis, poll, provider, telegram, nowMs, open } = snapshot;
  const polledMs = poll?.lastAnswerMs;
  return [
    { metric: METRIC.redisUp, value: 1 },
    { metric: METRIC.pending, value: sum(shards, ({ unanswered }) => unanswered) },
    { metric: METRIC.unansweredAge, value: secondsSince(nowMs, oldestMs(shards)) },
    { metric: METRIC.lanes, value: sum(waiting, ({ lanes }) => lanes) },
    { metric: METRIC.laneDepth, value: Math.max(0, ...waiting.map(({ deepest }) => deepest)) },
    ...jobsOf(shards, waiting),
    { metric: METRIC.deadLetters, value: sum(shards, ({ deadLetters }) => deadLetters) },
    { metric: METRIC.alertBacklog, value: notices + sum(waiting, ({ alerts }) => alerts) },
    ...incidentsOf(open),
    ...(polledMs === undefined ? [] : [{ metric: METRIC.pollAge, value: secondsSince(nowMs, polledMs) }]),
    { metric: METRIC.providerFailing, value: secondsSince(nowMs, provider.failing?.sinceMs) },
    { metric: METRIC.telegramAway, value: secondsSince(nowMs, telegram.away?.sinceMs) },
    { metric: METRIC.redisMemoryShare, value: redis.maxBytes === 0 ? 0 : redis.usedBytes / redis.maxBytes },
    { metric: METRIC.redisMemory, value: redis.usedBytes },
    { metric: METRIC.redisUnwritten, value: redis.unwritten === undefined ? 0 : 1 },
    { metric: METRIC.workers, value: workers },
  ];
}

function jobsOf(shards: readonly ShardSnapshot[], waiting: readonly Waiting[]): GaugeReading[] {
  const counts = {
    waiting: sum(shards, ({ jobsWaiting }) => jobsWaiting),
    active: sum(shards, ({ jobsActive }) => jobsActive),
    delayed: sum(waiting, ({ delayed }) => delayed),
  };
  return Object.entries(counts).map(([state, value]) => ({ metric: METRIC.jobs, value, attributes: { state } }));
}

/** Every cause has its gauge at all times: one that disappears would look open for minutes after its end. */
function incidentsOf(open: ReadonlySet<string>): GaugeReading[] {
  const causes = [...open].map((incident) => incident.split(':')[0]);
  return Object.keys(CAUSES).map((cause) => ({
    metric: METRIC.incidents,
    value: causes.filter((each) => each === cause).length,
    attributes: { cause },
  }));
}

function oldestMs(shards: readonly ShardSnapshot[]): number | undefined {
  const all = shards.flatMap(({ overdue }) => overdue.oldest?.acceptedMs ?? []);
  return all.length === 0 ? undefined : Math.min(...all);
}

function secondsSince(nowMs: number, sinceMs: number | undefined): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs) / 1_000;
}

function sum<T>(all: readonly T[], number: (each: T) => number): number {
  return all.reduce((total, each) => total + number(each), 0);
}
