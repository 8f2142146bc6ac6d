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
import { readStrangers, type Stranger } from '../../shared/state/pairing/strangers.ts';
import { type PollRecord, readHeartbeat } from '../../shared/state/process/receiver.ts';
import {
  type ModelLives,
  type ProviderRecord,
  readModelLives,
  readProvider,
} from '../../shared/state/provider/provider.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import type { Limit, LimitUsage } from '../../shared/state/spending/limit.ts';
import { readTelegram, type TelegramRecord } from '../../shared/state/telegram/telegram.ts';
import { readParts } from '../alerts/watch-failure.ts';
import { viewJobs } from '../lane/job-view.ts';
import type { RecentOutcome } from './colour.ts';
import { correctTimes, createSightings, type Look } from './sightings.ts';

/** The state of the whole installation at one moment. Times are by Redis' clock. */
export interface Snapshot {
  nowMs: number;
  /** The names of the open incidents. */
  open: ReadonlySet<string>;
  shards: ShardSnapshot[];
  /** `undefined` if no receiver has ever reported. */
  poll: PollRecord | undefined;
  provider: ProviderRecord;
  models: ModelLives;
  telegram: TelegramSnapshot;
  alerting: AlertingRecord;
  redis: RedisState;
  /** The use of each budget of all chats. */
  spent: readonly LimitUsage[];
  /** The newest outcomes of all chats, newest first. */
  newest: readonly RecentOutcome[];
  strangers: readonly Stranger[];
}

/** The outage of Telegram, if there is one, and the answers that wait for its end. */
interface TelegramSnapshot {
  away?: NonNullable<TelegramRecord['away']> & WaitingAnswers;
}

/** The state of one shard. */
export interface ShardSnapshot {
  shard: number;
  /** Messages that have waited too long, without those of paused chats. */
  overdue: Overdue;
  /** Messages of paused chats that have waited too long; absent if there are none. */
  resting?: Overdue;
  /** The number of messages without an outcome. */
  unanswered: number;
  jobsWaiting: number;
  /** The waiting job that a worker takes next; absent if no job waits. */
  nextJob?: string;
  jobsActive: number;
  jobsDelayed: number;
  deadLetters: number;
  /** Dead letters that no operator has closed. */
  openLetters: number;
  /** How many dead letters were ever removed because the shard was full. */
  lettersDropped: number;
}

/** Adds up one number of each item. Pure. */
export function sum<T>(all: readonly T[], number: (each: T) => number): number {
  return all.reduce((total, each) => total + number(each), 0);
}

/**
 * Creates a reader of the state of the flow. A message is overdue after `unansweredMs`; `totals` are the budgets of all
 * chats. If the data of one part is unreadable, only the property of this part throws, when it is used. Contract: the reader
 * rejects when Redis cannot be reached.
 */
export function createSnapshotReader(
  redis: RedisClient,
  shards: number,
  unansweredMs: number,
  totals: readonly Limit[] = [],
) {
  const readOverdue = createOverdueReader(redis, unansweredMs);
  const readTelegramState = createTelegramReader(redis, shards);
  const keys = keysOf(0);
  const lookAt = createSightings();
  return async ({ nowMs, open }: Pick<Snapshot, 'nowMs' | 'open'>): Promise<Snapshot> => {
    const look = lookAt(nowMs);
    const withCorrectTimes = async <T extends object | undefined>(name: string, reading: Promise<T>): Promise<T> =>
      correctTimes(name, await reading, look);
    const snapshot = await readParts<Snapshot>({
      nowMs: Promise.resolve(nowMs),
      open: Promise.resolve(open),
      telegram: withCorrectTimes('telegram', readTelegramState()),
      poll: withCorrectTimes('poll', readHeartbeat(redis, keys)),
      provider: withCorrectTimes('provider', readProvider(redis, keys)),
      models: readModelLives(redis, keys),
      alerting: withCorrectTimes('alerting', readAlerting(redis)),
      redis: readServers(redis),
      spent: readSpent(redis, totals, nowMs),
      newest: readNewestOutcomes(redis, shards),
      strangers: readStrangers(redis),
      shards: Promise.all(
        Array.from({ length: shards }, (_, shard) => readShard(redis, readOverdue, shard, look, nowMs)),
      ),
    });
    look.end();
    return snapshot;
  };
}

/** Creates a reader of Telegram's state. It counts the waiting answers only while Telegram does not answer. */
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
  const [unanswered, tallies, counts, nextJob, letters, openLetters] = await Promise.all([
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
    overdue: tallies.overdue,
    ...(tallies.resting.messages > 0 && { resting: tallies.resting }),
    jobsWaiting: counts.waiting,
    ...(nextJob !== undefined && { nextJob }),
    jobsActive: counts.active,
    jobsDelayed: counts.delayed,
    deadLetters: letters.letters,
    openLetters,
    lettersDropped: letters.dropped,
  };
}

/** How many outcomes to read per shard, so that usually ten or more of them are failures or answers of the model. */
const READ_MAX = 40;

/** Reads the newest outcomes of all shards, newest first. Rejects when Redis cannot be reached. */
async function readNewestOutcomes(redis: RedisClient, shards: number): Promise<RecentOutcome[]> {
  const all = await newestOutcomes(
    redis,
    Array.from({ length: shards }, (_, shard) => keysOf(shard)),
    READ_MAX,
  );
  return all.flatMap(({ outcome, reason, settledAtMs }) =>
    outcome === undefined || settledAtMs === undefined ? [] : { outcome, settledAtMs, ...(reason && { reason }) },
  );
}
