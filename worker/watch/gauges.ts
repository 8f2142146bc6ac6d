import type { Service } from '../../shared/base/lifecycle.ts';
import type { GaugeReading } from '../../shared/base/meters.ts';
import { METRIC, type MetricName } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { createLaneMeasure, type LaneSizes } from '../../shared/state/lane/overdue.ts';
import { countWorkers } from '../../shared/state/process/workers.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { CAUSES } from '../alerts/causes.ts';
import { isUpToDate } from '../alerts/next-sending.ts';
import { isAboutData, readParts, runEach, type WatchFailure } from '../alerts/watch-failure.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { createSnapshotReader, type ShardSnapshot, type Snapshot, sum } from './snapshot.ts';

interface InstallationState {
  snapshot: Snapshot;
  laneSizes: readonly LaneSizes[];
  /** The number of incidents whose newest stage some channel has not received. */
  incidentsToDeliver: number;
  workers: number;
}

type GaugeReader = (state: InstallationState) => number | undefined | readonly GaugeReading[];

const READERS: Readonly<Partial<Record<MetricName, GaugeReader>>> = {
  [METRIC.redisUp]: () => 1,
  [METRIC.pending]: ({ snapshot }) => sum(snapshot.shards, ({ unanswered }) => unanswered),
  [METRIC.unansweredAge]: ({ snapshot }) => secondsSince(snapshot.nowMs, oldestMs(snapshot.shards)),
  [METRIC.lanes]: ({ laneSizes }) => sum(laneSizes, ({ lanes }) => lanes),
  [METRIC.laneDepth]: ({ laneSizes }) => Math.max(0, ...laneSizes.map(({ deepest }) => deepest)),
  [METRIC.jobs]: ({ snapshot }) => jobsOf(snapshot.shards),
  [METRIC.deadLetters]: ({ snapshot }) => sum(snapshot.shards, ({ deadLetters }) => deadLetters),
  [METRIC.alertBacklog]: ({ incidentsToDeliver, laneSizes }) =>
    incidentsToDeliver + sum(laneSizes, ({ alerts }) => alerts),
  [METRIC.incidents]: ({ snapshot }) => incidentsOf(snapshot.open),
  [METRIC.pollAge]: ({ snapshot: { nowMs, poll } }) => poll?.lastAnswerMs && secondsSince(nowMs, poll.lastAnswerMs),
  [METRIC.providerFailing]: ({ snapshot }) => secondsSince(snapshot.nowMs, snapshot.provider.failing?.sinceMs),
  [METRIC.telegramAway]: ({ snapshot }) => secondsSince(snapshot.nowMs, snapshot.telegram.away?.sinceMs),
  [METRIC.redisMemoryShare]: ({ snapshot: { redis } }) => (redis.maxBytes === 0 ? 0 : redis.usedBytes / redis.maxBytes),
  [METRIC.redisMemory]: ({ snapshot }) => snapshot.redis.usedBytes,
  [METRIC.redisUnwritten]: ({ snapshot }) => (snapshot.redis.unwritten === undefined ? 0 : 1),
  [METRIC.workers]: ({ workers }) => workers,
};
const GAUGES = Object.keys(READERS) as MetricName[];
/** How long a reading is reused, because an exporter and a scrape may ask at the same time. */
const FRESH_MS = 1_000;

/** Exports the state of the installation as gauges. Reads Redis only for an export or a scrape, at most once a second. */
export function startStateGauges({ settings, telemetry, log }: ProcessEnv, redis: RedisClient): Service {
  const read = createStateReader(redis, settings.SHARDS);
  const show = (state: InstallationState): readonly GaugeReading[] => {
    const { readings, failures } = gaugesOf(state);
    for (const { what, error } of failures) log.debug({ err: error, what }, 'a gauge could not be read');
    return readings;
  };
  let last: { atMs: number; readings: Promise<readonly GaugeReading[]> } | undefined;
  const end = telemetry.observe(GAUGES, () => {
    if (last === undefined || performance.now() - last.atMs > FRESH_MS) {
      const readings = read().then(show, (error: unknown) => {
        log.debug({ err: error }, 'the gauges could not be read');
        return [{ metric: METRIC.redisUp, value: isAboutData(error) ? 1 : 0 }];
      });
      last = { atMs: performance.now(), readings };
    }
    return last.readings;
  });
  return { name: 'state gauges', stop: async () => end() };
}

/** Creates a reader of the state of the installation. The reader rejects when Redis cannot be reached. */
export function createStateReader(redis: RedisClient, shards: number): () => Promise<InstallationState> {
  const book = createBookStore(redis);
  // With 0 ms, every message without an outcome counts as overdue.
  const readSnapshot = createSnapshotReader(redis, shards, 0);
  const measure = createLaneMeasure(redis);
  return async () => {
    const stored = await book.read();
    const open = new Set([...stored.book].filter(([, { isOpen }]) => isOpen).map(([id]) => id));
    const laneSizes = Promise.all(Array.from({ length: shards }, (_, shard) => measure(keysOf(shard))));
    const nowMs = await laneSizes.then(([first]) => first?.nowMs ?? Date.now(), Date.now);
    return readParts<InstallationState>({
      snapshot: readSnapshot({ nowMs, open }),
      laneSizes,
      incidentsToDeliver: Promise.resolve([...stored.book.values()].filter((each) => !isUpToDate(each, stored)).length),
      workers: countWorkers(redis, nowMs),
    });
  };
}

/** The gauges of a state. A gauge that cannot be read becomes a failure and blocks no other. Pure. */
export function gaugesOf(state: InstallationState): { readings: GaugeReading[]; failures: WatchFailure[] } {
  const readings: GaugeReading[] = [];
  const failures: WatchFailure[] = [];
  const show = ([metric, read]: [MetricName, GaugeReader]): void => {
    const value = read(state);
    if (typeof value === 'number') readings.push({ metric, value });
    else readings.push(...(value ?? []));
  };
  runEach(Object.entries(READERS) as [MetricName, GaugeReader][], ([metric]) => metric, show, failures);
  return { readings, failures };
}

function jobsOf(shards: readonly ShardSnapshot[]): GaugeReading[] {
  const counts = {
    waiting: sum(shards, ({ jobsWaiting }) => jobsWaiting),
    active: sum(shards, ({ jobsActive }) => jobsActive),
    delayed: sum(shards, ({ jobsDelayed }) => jobsDelayed),
  };
  return Object.entries(counts).map(([state, value]) => ({ metric: METRIC.jobs, value, attributes: { state } }));
}

/** A gauge for each cause, also with 0 open incidents, because a gauge that disappears keeps its last value for minutes. */
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
