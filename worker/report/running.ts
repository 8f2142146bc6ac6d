import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys } from '../../shared/redis/keys.ts';
import { readInbound } from '../../shared/state/message/inbound.ts';
import { type ReportSource, shardsOf } from './source.ts';
import { readTurn } from './turn.ts';

/** A turn in flight. Times are ms since the epoch. */
export interface RunningTurn {
  chat: ChatKey;
  entry: EntryId;
  traceId: string;
  acceptedMs: number;
  /** Since when its attempt runs; absent for the moment before it begins. */
  sinceMs?: number;
  attempt: number;
  step: string;
}

/** How many jobs are in each state. */
export interface JobCounts {
  waiting: number;
  active: number;
  delayed: number;
}

/** As many as a screen can show; `JobCounts` has the number of all. */
const SHOWN_MAX = 50;

/** The turns in flight, the one that runs longest first. */
export async function readRunning(source: ReportSource): Promise<RunningTurn[]> {
  const all = await Promise.all(shardsOf(source).map((keys) => runningIn(source.redis, keys)));
  return all
    .flat()
    .sort((one, other) => (one.sinceMs ?? Number.POSITIVE_INFINITY) - (other.sinceMs ?? Number.POSITIVE_INFINITY))
    .slice(0, SHOWN_MAX);
}

/** Reads how many jobs wait, run and are put off. */
export async function readJobCounts(source: ReportSource): Promise<JobCounts> {
  const all = await Promise.all(
    shardsOf(source).map(async ({ jobsWaiting, jobsActive, jobsDelayed }) =>
      Promise.all([source.redis.llen(jobsWaiting), source.redis.llen(jobsActive), source.redis.zcard(jobsDelayed)]),
    ),
  );
  const sum = (state: 0 | 1 | 2) => all.reduce((total, counts) => total + counts[state], 0);
  return { waiting: sum(0), active: sum(1), delayed: sum(2) };
}

async function runningIn(redis: RedisClient, keys: Keys): Promise<RunningTurn[]> {
  const jobs = await redis.lrange(keys.jobsActive, 0, SHOWN_MAX - 1);
  const turns = await Promise.all(jobs.map((job) => runningTurn(redis, keys, job.replace(/^m-/, '') as EntryId)));
  return turns.filter((turn) => turn !== undefined);
}

async function runningTurn(redis: RedisClient, keys: Keys, entry: EntryId): Promise<RunningTurn | undefined> {
  const [message, turn] = await Promise.all([readInbound(redis, keys, entry), readTurn(redis, keys, entry)]);
  if (!message) return undefined;
  const { lane, traceId, acceptedMs } = message;
  const since = turn?.runningSinceMs === undefined ? {} : { sinceMs: turn.runningSinceMs };
  const about = { attempt: turn?.attempt ?? 0, step: turn?.step ?? 'beginning' };
  return { chat: chatOf(lane), entry, traceId, acceptedMs, ...since, ...about };
}
