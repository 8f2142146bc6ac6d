import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys } from '../../shared/redis/keys.ts';
import { readInbound } from '../../shared/state/message/inbound.ts';
import { readTurn } from '../../shared/state/turn/summary.ts';
import { type JobCounts, viewJobs } from '../lane/job-view.ts';
import { type ReportSource, shardsOf } from './source.ts';

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
  const all = await Promise.all(shardsOf(source).map((keys) => viewJobs(source.redis, keys).counts()));
  const sum = (state: keyof JobCounts) => all.reduce((total, counts) => total + counts[state], 0);
  return { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed') };
}

async function runningIn(redis: RedisClient, keys: Keys): Promise<RunningTurn[]> {
  const entries = await viewJobs(redis, keys).active(SHOWN_MAX);
  const turns = await Promise.all(entries.map((entry) => runningTurn(redis, keys, entry)));
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
