import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys } from '../../shared/redis/keys.ts';
import { type Pause, readPauses } from '../../shared/state/lane/stops.ts';
import { type LaneDepth, readDepths } from '../../shared/state/lane/waiting.ts';
import { type InboundEntry, readInbound, readOldest } from '../../shared/state/message/inbound.ts';
import { readTurn } from '../../shared/state/turn/summary.ts';
import { type JobCounts, viewJobs } from '../lane/job-view.ts';
import { type ReportSource, shardsOf } from './report.ts';

/** The messages that are on their way, in all shards. */
export interface InFlight {
  lanes: Lanes;
  jobs: JobCounts;
  running: RunningTurn[];
  pauses: Pause[];
  /** The oldest message whose user has no answer. */
  oldest?: InboundEntry;
}

/** The lanes of all chats. */
export interface Lanes {
  /** How many hold at least one message. */
  count: number;
  /** How many hold more than the one that is being answered. */
  waiting: number;
  /** How many wait for somebody's decision, and how many messages wait behind the questions. */
  parked: number;
  behindQuestions: number;
  /** The deepest first. */
  deepest: LaneDepth[];
}

const DEEPEST_SHOWN = 5;

/** Reads what is on its way, and what is held up. */
export async function readInFlight(source: ReportSource): Promise<InFlight> {
  const [lanes, jobs, running, pauses, oldest] = await Promise.all([
    readLanes(source),
    readJobCounts(source),
    readRunning(source),
    readAllPauses(source),
    readOldestOfAll(source),
  ]);
  return { lanes, jobs, running, pauses, ...(oldest && { oldest }) };
}

async function readLanes(source: ReportSource): Promise<Lanes> {
  const all = (await Promise.all(shardsOf(source).map((keys) => readDepths(source.redis, keys)))).flat();
  const deepest = all.sort((one, other) => other.messages - one.messages).slice(0, DEEPEST_SHOWN);
  const parked = all.filter(({ isParked }) => isParked);
  const behindQuestions = parked.reduce((sum, { messages }) => sum + messages - 1, 0);
  const waiting = all.filter(({ messages }) => messages > 1).length;
  return { count: all.length, waiting, parked: parked.length, behindQuestions, deepest };
}

/** The pauses of all shards, each once. */
export async function readAllPauses(source: ReportSource): Promise<Pause[]> {
  const all = (await Promise.all(shardsOf(source).map((keys) => readPauses(source.redis, keys)))).flat();
  return all.filter(({ chat }, at) => all.findIndex((other) => other.chat === chat) === at);
}

async function readOldestOfAll(source: ReportSource): Promise<InboundEntry | undefined> {
  const each = await Promise.all(shardsOf(source).map((keys) => readOldest(source.redis, keys)));
  return each.filter((one) => one !== undefined).sort((one, other) => one.acceptedMs - other.acceptedMs)[0];
}

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
async function readRunning(source: ReportSource): Promise<RunningTurn[]> {
  const turnsIn = async (keys: Keys) => {
    const entries = await viewJobs(source.redis, keys).active(SHOWN_MAX);
    return Promise.all(entries.map((entry) => runningTurn(source.redis, keys, entry)));
  };
  const all = (await Promise.all(shardsOf(source).map(turnsIn))).flat();
  return all
    .filter((turn) => turn !== undefined)
    .sort((one, other) => (one.sinceMs ?? Number.POSITIVE_INFINITY) - (other.sinceMs ?? Number.POSITIVE_INFINITY))
    .slice(0, SHOWN_MAX);
}

/** Reads how many jobs wait, run and are put off. */
async function readJobCounts(source: ReportSource): Promise<JobCounts> {
  const all = await Promise.all(shardsOf(source).map((keys) => viewJobs(source.redis, keys).counts()));
  const sum = (state: keyof JobCounts) => all.reduce((total, counts) => total + counts[state], 0);
  return { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed') };
}

async function runningTurn(redis: RedisClient, keys: Keys, entry: EntryId): Promise<RunningTurn | undefined> {
  const [message, turn] = await Promise.all([readInbound(redis, keys, entry), readTurn(redis, keys, entry)]);
  if (!message) return undefined;
  const { lane, traceId, acceptedMs } = message;
  const since = turn?.runningSinceMs === undefined ? {} : { sinceMs: turn.runningSinceMs };
  const about = { attempt: turn?.attempt ?? 0, step: turn?.step ?? 'beginning' };
  return { chat: chatOf(lane), entry, traceId, acceptedMs, ...since, ...about };
}
