import { join } from 'node:path';
import { type RedisClient, serversOf } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { fieldsOf, msOf } from '../../shared/redis/stream.ts';
import { type PollRecord, readHeartbeat } from '../../shared/state/process/receiver.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import type { Limit, Spent } from '../../shared/state/spending/limit.ts';
import { readTelegram, type TelegramRecord } from '../../shared/telegram/breaker-state.ts';
import { type AlertingRecord, readAlerting } from '../alerts/delivery.ts';
import { standingAlone } from '../alerts/watch-failure.ts';
import { viewJobs } from '../lane/job-view.ts';
import { type ModelLives, readModelLives } from './model-lives.ts';
import {
  createOverdueReader,
  createSightings,
  type Look,
  type Overdue,
  type ReadOverdue,
  timesSeen,
} from './overdue.ts';
import { type ProviderRecord, readProvider } from './provider.ts';
import type { Ended } from './verdict.ts';

/** The state of the flow at one moment, by Redis' clock. */
export interface Snapshot {
  nowMs: number;
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
  /** The names of the open incidents. */
  open: ReadonlySet<string>;
}

/** Whether Telegram answers, and while it does not, what waits for it. */
export interface TelegramSnapshot extends Pick<TelegramRecord, 'backMs'> {
  away?: { sinceMs: number; why: string; answers: number; chats: number };
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
  /** How many were ever removed because there were too many. */
  lettersDropped: number;
}

/** What the servers report about themselves; of several, the one in the worst state. */
export interface RedisState {
  /** As Redis calls it: `master` or `slave`. */
  role: string;
  usedBytes: number;
  /** 0 when there is no limit. */
  maxBytes: number;
  /** Which of its files it could not write, in Redis' own words; absent when all is well. */
  unwritten?: string;
}

const WAITING_MAX = 5_000;
/** The field of the counts; see `drop-letters.lua`. */
export const LETTERS_DROPPED = 'lettersDropped';

/**
 * Reads the state of the flow. What a part of it needs and cannot be read throws where it is used, so that it blinds
 * nobody for the rest. Contract: rejects when Redis cannot be reached.
 */
export type ReadSnapshot = (at: { nowMs: number; open: ReadonlySet<string> }) => Promise<Snapshot>;

/**
 * A reader of snapshots for the given number of shards, in which a message is overdue after `unansweredMs`, with what is
 * spent of the given limits.
 */
export function createSnapshotReader(
  redis: RedisClient,
  shards: number,
  unansweredMs: number,
  totals: readonly Limit[] = [],
): ReadSnapshot {
  const readOverdue = createOverdueReader(redis, unansweredMs);
  const readTelegramNow = createTelegramReader(redis, shards);
  const keys = keysOf(0);
  const lookAt = createSightings();
  return async ({ nowMs, open }) => {
    const look = lookAt(nowMs);
    const timed = async <T extends object | undefined>(name: string, reading: Promise<T>): Promise<T> =>
      timesSeen(name, await reading, look);
    const snapshot = await standingAlone<Snapshot>({
      nowMs: Promise.resolve(nowMs),
      open: Promise.resolve(open),
      telegram: timed('telegram', readTelegramNow()),
      poll: timed('poll', readHeartbeat(redis, keys)),
      provider: timed('provider', readProvider(redis, keys)),
      models: readModelLives(redis, keys),
      alerting: timed('alerting', readAlerting(redis, keys)),
      redis: readRedis(redis),
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
  const count = bindScript<[answers: number, chats: number]>(redis, join(import.meta.dirname, 'waiting-answers.lua'));
  return async () => {
    const { away, ...rest } = await readTelegram(redis, keysOf(0));
    if (away === undefined) return rest;
    const counts = await Promise.all(
      Array.from({ length: shards }, (_, shard) => {
        const { inbound, absent, turnPrefix } = keysOf(shard);
        return count([inbound, absent], [turnPrefix, WAITING_MAX]);
      }),
    );
    const [answers, chats] = counts.reduce(([all, of], [more, ofMore]) => [all + more, of + ofMore], [0, 0]);
    return { ...rest, away: { ...away, answers, chats } };
  };
}

/** Each server has its own memory and files; the first one that is full, or cannot write, refuses messages. */
async function readRedis(redis: RedisClient): Promise<RedisState> {
  const all = await Promise.all(
    serversOf(redis).map(async (server) =>
      stateOf((await Promise.all(SECTIONS.map((section) => server.info(section)))).join('\n')),
    ),
  );
  const fullest = all.reduce((worst, each) => (shareOf(each) > shareOf(worst) ? each : worst));
  const unwritten = all.find((each) => each.unwritten !== undefined)?.unwritten;
  return { ...fullest, ...(unwritten !== undefined && { unwritten }) };
}

/** A server without a limit is never full, so any of them will do. */
function shareOf({ usedBytes, maxBytes }: RedisState): number {
  return maxBytes === 0 ? 0 : usedBytes / maxBytes;
}

const SECTIONS = ['memory', 'persistence', 'replication'] as const;
const WRITES = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];

function stateOf(info: string): RedisState {
  const value = (name: string): string | undefined => new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
  const number = (name: string): number => Number(value(name) ?? 0);
  const unwritten = WRITES.find((name) => (value(name) ?? 'ok') !== 'ok');
  const state = { role: value('role') ?? '', usedBytes: number('used_memory'), maxBytes: number('maxmemory') };
  return unwritten === undefined ? state : { ...state, unwritten };
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
  const [unanswered, late, counts, nextJob, deadLetters, dropped] = await Promise.all([
    redis.xlen(keys.inbound),
    readOverdue(keys, look, nowMs),
    jobs.counts(),
    jobs.next(),
    redis.xlen(keys.dead),
    redis.hget(keys.counts, LETTERS_DROPPED),
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
    deadLetters,
    lettersDropped: Number(dropped ?? 0),
  };
}

/** How many worker processes reported recently. */
export async function countWorkers(redis: RedisClient, keys: Keys, sinceMs: number): Promise<number> {
  return redis.zcount(keys.workers, sinceMs, '+inf');
}

/** Enough to find ten messages that asked the model behind commands and merged ones. */
const READ_MAX = 40;

/** How the newest messages of all shards ended, the newest first. Rejects when Redis cannot be reached. */
async function readNewestOutcomes(redis: RedisClient, shards: number): Promise<Ended[]> {
  const all = await Promise.all(
    Array.from({ length: shards }, (_, shard) => redis.xrevrange(keysOf(shard).outcomes, '+', '-', 'COUNT', READ_MAX)),
  );
  // Ids never step back, whatever the clock does.
  const newest = all.flat().sort(([one], [other]) => msOf(other) - msOf(one));
  return newest.flatMap(([, fields]) => readable(fieldsOf(fields).get('record')));
}

function readable(json: string | undefined): Ended[] {
  try {
    const { outcome, reason, settledAtMs } = JSON.parse(json ?? '') as Partial<Ended>;
    if (outcome === undefined || settledAtMs === undefined) return [];
    return [{ outcome, settledAtMs, ...(reason !== undefined && { reason }) }];
  } catch {
    return [];
  }
}
