import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { type RedisState, readServers } from '../../shared/redis/server-state.ts';
import { type AlertingRecord, readAlerting } from '../../shared/state/incident/delivery.ts';
import { bindLetterCount, countLetters } from '../../shared/state/lane/dead-letters.ts';
import {
  countUnanswered,
  createAnswerCounter,
  createOverdueReader,
  type Overdue,
  type ReadOverdue,
  type WaitingAnswers,
} from '../../shared/state/lane/overdue.ts';
import { newestOutcomes } from '../../shared/state/lane/record-streams.ts';
import { type PollRecord, readHeartbeat } from '../../shared/state/process/receiver.ts';
import {
  type ModelLives,
  type ProviderRecord,
  readModelLives,
  readProvider,
} from '../../shared/state/provider/provider.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import type { Limit, Spent } from '../../shared/state/spending/limit.ts';
import { readTelegram, type TelegramRecord } from '../../shared/state/telegram/telegram.ts';
import { readParts } from '../alerts/watch-failure.ts';
import { viewJobs } from '../lane/job-view.ts';
import type { Ended } from './colour.ts';
import { createSightings, type Look, timesSeen } from './sightings.ts';

/** The state of the flow at one moment, by Redis' clock. */
export interface Snapshot {
  nowMs: number;
  /** The names of the incidents that are open. */
  open: ReadonlySet<string>;
  shards: ShardSnapshot[];
  /** `undefined` when nothing was ever received. */
  poll: PollRecord | undefined;
  provider: ProviderRecord;
  models: ModelLives;
  telegram: TelegramSnapshot;
  alerting: AlertingRecord;
  redis: RedisState;
  /** What is spent of the limits of all chats. */
  spent: readonly Spent[];
  /** How the newest messages of all chats ended, the newest first. */
  newest: readonly Ended[];
}

/** Whether Telegram answers, and while it does not, what waits for it. */
interface TelegramSnapshot {
  away?: NonNullable<TelegramRecord['away']> & WaitingAnswers;
}

/** The state of one shard. */
export interface ShardSnapshot {
  shard: number;
  /** What has waited too long. */
  overdue: Overdue;
  /** What has waited too long because an operator has paused its chat; absent where nothing has. */
  resting?: Overdue;
  /** All messages that have no outcome yet. */
  unanswered: number;
  jobsWaiting: number;
  /** The waiting job that a worker takes next. */
  nextJob?: string;
  jobsActive: number;
  jobsDelayed: number;
  deadLetters: number;
  /** Those that nobody has replayed, removed or closed. */
  openLetters: number;
  /** How many were ever removed because there were too many. */
  lettersDropped: number;
}

/** The sum of a number of each. Pure. */
export function sum<T>(all: readonly T[], number: (each: T) => number): number {
  return all.reduce((total, each) => total + number(each), 0);
}

/**
 * A reader of the state of the flow for the given number of shards, in which a message is overdue after `unansweredMs`, with
 * what is spent of the given limits. What a part of it needs and cannot be read throws where it is used, so that it blinds
 * nobody for the rest. Contract: the reader rejects when Redis cannot be reached.
 */
export function createSnapshotReader(
  redis: RedisClient,
  shards: number,
  unansweredMs: number,
  totals: readonly Limit[] = [],
) {
  const readOverdue = createOverdueReader(redis, unansweredMs);
  const readTelegramNow = createTelegramReader(redis, shards);
  const keys = keysOf(0);
  const lookAt = createSightings();
  return async ({ nowMs, open }: Pick<Snapshot, 'nowMs' | 'open'>): Promise<Snapshot> => {
    const look = lookAt(nowMs);
    const timed = async <T extends object | undefined>(name: string, reading: Promise<T>): Promise<T> =>
      timesSeen(name, await reading, look);
    const snapshot = await readParts<Snapshot>({
      nowMs: Promise.resolve(nowMs),
      open: Promise.resolve(open),
      telegram: timed('telegram', readTelegramNow()),
      poll: timed('poll', readHeartbeat(redis, keys)),
      provider: timed('provider', readProvider(redis, keys)),
      models: readModelLives(redis, keys),
      alerting: timed('alerting', readAlerting(redis)),
      redis: readServers(redis),
      spent: readSpent(redis, totals, nowMs),
      newest: readNewestOutcomes(redis, shards),
      shards: Promise.all(
        Array.from({ length: shards }, (_, shard) => readShard(redis, readOverdue, shard, look, nowMs)),
      ),
    });
    look.end();
    return snapshot;
  };
}

/** Reads whether Telegram is away, and only then what waits for it. */
function createTelegramReader(redis: RedisClient, shards: number): () => Promise<TelegramSnapshot> {
  const countAnswers = createAnswerCounter(redis, shards);
  return async () => {
    const { away } = await readTelegram(redis);
    return away === undefined ? {} : { away: { ...away, ...(await countAnswers()) } };
  };
}

async function readShard(
  redis: RedisClient,
  readOverdue: ReadOverdue,
  shard: number,
  look: Look,
  nowMs: number,
): Promise<ShardSnapshot> {
  const keys = keysOf(shard);
  const jobs = viewJobs(redis, keys);
  const [unanswered, late, counts, nextJob, letters, openLetters] = await Promise.all([
    countUnanswered(redis, keys),
    readOverdue(keys, look, nowMs),
    jobs.counts(),
    jobs.next(),
    countLetters(redis, keys),
    bindLetterCount(redis)(keys),
  ]);
  return {
    shard,
    unanswered,
    overdue: late.overdue,
    ...(late.resting.messages > 0 && { resting: late.resting }),
    jobsWaiting: counts.waiting,
    ...(nextJob !== undefined && { nextJob }),
    jobsActive: counts.active,
    jobsDelayed: counts.delayed,
    deadLetters: letters.kept,
    openLetters,
    lettersDropped: letters.dropped,
  };
}

/** Enough to find ten messages that asked the model behind commands and merged ones. */
const READ_MAX = 40;

/** How the newest messages of all shards ended, the newest first. Rejects when Redis cannot be reached. */
async function readNewestOutcomes(redis: RedisClient, shards: number): Promise<Ended[]> {
  const all = await newestOutcomes(
    redis,
    Array.from({ length: shards }, (_, shard) => keysOf(shard)),
    READ_MAX,
  );
  return all.flatMap(({ outcome, reason, settledAtMs }) =>
    outcome === undefined || settledAtMs === undefined ? [] : { outcome, settledAtMs, ...(reason && { reason }) },
  );
}
