import type { RedisClient } from '../../shared/redis/connection.ts';
import { chatOf, type EntryId, type Keys, type LaneKey } from '../../shared/redis/keys.ts';
import { type Pause, readPauses } from '../../shared/state/lane/stops.ts';
import { type LaneDepth, readDepths } from '../../shared/state/lane/waiting.ts';
import { readInbound, readOldest } from '../../shared/state/message/inbound.ts';
import { readTurn } from '../../shared/state/turn/summary.ts';
import { type JobCounts, viewJobs } from '../lane/job-view.ts';
import { sum } from '../watch/snapshot.ts';
import { type ReportSource, shardsOf } from './report.ts';

const DEEPEST_SHOWN = 5;
/** The maximum number of running turns in a report. The report's `jobs.active` counts all running turns. */
const RUNNING_MAX = 50;

/** Reads lanes, jobs, running turns, pauses and the oldest message, without the message `caller` that asks, and its lane. */
export async function readInFlight(source: ReportSource, caller?: { entry: EntryId; lane: LaneKey }) {
  const { redis } = source;
  const all = await Promise.all(
    shardsOf(source).map(async (keys) => {
      const view = viewJobs(redis, keys);
      return {
        depths: await readDepths(redis, keys),
        counts: await view.counts(),
        running: await Promise.all(
          (await view.active(RUNNING_MAX)).map((entry) => readRunningTurn(redis, keys, entry)),
        ),
        oldest: await readOldest(redis, keys),
      };
    }),
  );
  const oldest = all
    .flatMap((shard) => shard.oldest ?? [])
    .filter(({ entry }) => entry !== caller?.entry)
    .sort((one, other) => one.acceptedMs - other.acceptedMs)[0];
  const jobs = (state: keyof JobCounts) => sum(all, ({ counts }) => counts[state]);
  return {
    lanes: lanesOf(all.flatMap(({ depths }) => depths).filter(({ lane }) => lane !== caller?.lane)),
    jobs: {
      waiting: jobs('waiting'),
      active: Math.max(0, jobs('active') - (caller ? 1 : 0)),
      delayed: jobs('delayed'),
    },
    running: all
      .flatMap(({ running }) => running.flatMap((turn) => turn ?? []))
      .filter(({ entry }) => entry !== caller?.entry)
      .sort((one, other) => (one.sinceMs ?? Number.POSITIVE_INFINITY) - (other.sinceMs ?? Number.POSITIVE_INFINITY))
      .slice(0, RUNNING_MAX),
    pauses: await readAllPauses(source),
    oldest,
  };
}

function lanesOf(depths: LaneDepth[]) {
  const parked = depths.filter(({ isParked }) => isParked);
  return {
    count: depths.length,
    // The lanes in which messages wait behind the first one.
    waiting: depths.filter(({ messages }) => messages > 1).length,
    parked: parked.length,
    behindQuestions: sum(parked, ({ messages }) => messages - 1),
    deepest: depths.toSorted((one, other) => other.messages - one.messages).slice(0, DEEPEST_SHOWN),
  };
}

/** Reads the pauses of all shards, without duplicates. */
export async function readAllPauses(source: ReportSource): Promise<Pause[]> {
  const all = (await Promise.all(shardsOf(source).map((keys) => readPauses(source.redis, keys)))).flat();
  return all.filter(({ chat }, at) => all.findIndex((other) => other.chat === chat) === at);
}

/** Reads a running turn; `undefined` if its message has ended. `sinceMs` is absent until the attempt has begun. */
async function readRunningTurn(redis: RedisClient, keys: Keys, entry: EntryId) {
  const [message, turn] = await Promise.all([readInbound(redis, keys, entry), readTurn(redis, keys, entry)]);
  if (!message) return undefined;
  const { lane, traceId, acceptedMs } = message;
  const { runningSinceMs: sinceMs, attempt = 0, step = 'beginning' } = turn ?? {};
  return { chat: chatOf(lane), entry, traceId, acceptedMs, sinceMs, attempt, step };
}
