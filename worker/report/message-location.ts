import { clip } from '../../shared/base/text.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys, LaneKey } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { fieldOfLetter } from '../../shared/state/lane/dead-letters.ts';
import { outcomesIn } from '../../shared/state/lane/record-streams.ts';
import { readHead, readPosition } from '../../shared/state/lane/waiting.ts';
import { pendingOfTrace, readEntry } from '../../shared/state/message/inbound.ts';
import { readTurn, type TurnSummary } from '../../shared/state/turn/summary.ts';
import { viewJobs } from '../lane/job-view.ts';
import { matching, messageName, type ReportSource, shardsOf, UnknownName } from './report.ts';

/** Where a message without an outcome is. Times are ms since the epoch. */
export type MessageLocation =
  /** Accepted; the dispatcher has not read it yet. */
  | { at: 'stream' }
  /** Behind others of its chat: `position` 1 is next. */
  | { at: 'lane'; position: number; behind: EntryId }
  /** At the head of its lane, and its job waits for a worker. */
  | { at: 'queue' }
  | { at: 'running'; sinceMs?: number; step: string; attempt: number }
  | { at: 'delayed'; untilMs: number; reason?: string }
  /** At the head of its lane, until a person decides, or that time is over. */
  | { at: 'parked'; untilMs: number }
  /** At the head of its lane without a job: the reconciler makes one within seconds. */
  | { at: 'no job' };

export async function locateMessage(
  redis: RedisClient,
  keys: Keys,
  message: { entry: EntryId; lane: LaneKey },
  turn: TurnSummary | undefined,
): Promise<MessageLocation> {
  const { entry, lane } = message;
  const [position, head] = await Promise.all([readPosition(redis, keys, message), readHead(redis, keys, lane)]);
  if (position === undefined || head === undefined) return { at: 'stream' };
  if (position > 0) return { at: 'lane', position, behind: head };
  const job = await viewJobs(redis, keys).find(entry);
  if (job === undefined)
    return turn?.parkedUntilMs === undefined ? { at: 'no job' } : { at: 'parked', untilMs: turn.parkedUntilMs };
  if (job.state === 'waiting') return { at: 'queue' };
  if (job.state === 'active') {
    const { runningSinceMs: sinceMs, step = 'beginning', attempt = 0 } = turn ?? {};
    return { at: 'running', ...(sinceMs !== undefined && { sinceMs }), step, attempt };
  }
  const reason = turn?.ended.at(-1)?.reason;
  return { at: 'delayed', untilMs: job.untilMs, ...(reason !== undefined && { reason }) };
}

export interface MessageName {
  shard: number;
  keys: Keys;
  entry: EntryId;
}

/** An entry id, after its shard where several have the same: what alerts, spans and the log call `entry`. */
export const ENTRY_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
export const TRACE_NAME = /^[\da-f]{32}$/;

const NAME_CHARS = 40;
const NAMES_CHARS = 300;
/** The ledger of a busy month. */
const LOOKED_AT_MAX = 2_000_000;

/**
 * The messages that a text names: an entry, a trace id, or the id of a dead letter, as alerts and lists have them. None
 * when nothing is known of it; more than one when several shards have an entry of this id.
 */
async function findMessages(source: ReportSource, text: string): Promise<MessageName[]> {
  if (TRACE_NAME.test(text)) return findByTrace(source, text);
  const [, shard, id] = ENTRY_NAME.exec(text) ?? [];
  if (id === undefined) return [];
  const asked = shardsOf(source).map((keys, at) => ({ shard: at, keys }));
  const shards = shard === undefined ? asked : asked.filter(({ shard: at }) => at === Number(shard));
  const found = await Promise.all(shards.map(async (at) => ({ ...at, entry: await entryIn(source, at.keys, id) })));
  return found.flatMap(({ entry, ...each }) => (entry === undefined ? [] : [{ ...each, entry }]));
}

/** The one message that an operator named. Throws `UnknownName` where there is none, or where there are several. */
export async function namedMessage(source: ReportSource, id: string): Promise<MessageName> {
  const [name, ...others] = await findMessages(source, id);
  if (name === undefined) throw unknownMessage(id);
  if (others.length === 0) return name;
  const all = [name, ...others].map(({ shard, entry }) => `${shard}/${entry}`);
  const which = clip(all.join(', '), NAMES_CHARS);
  throw new UnknownName(`There are ${all.length} messages ${id}. Which one? ${which}`, all.map(messageName));
}

export function unknownMessage(id: string): UnknownName {
  return new UnknownName(
    `Nothing is kept of a message “${clip(id, NAME_CHARS)}”. It is named by its entry, such as 1700000000000-0, by its trace, or by its dead letter; the ledger goes back LEDGER_RETENTION_DAYS, 90 unless it is set.`,
  );
}

async function entryIn({ redis }: ReportSource, keys: Keys, id: string): Promise<EntryId | undefined> {
  if (await readEntry(redis, keys, id)) return id as EntryId;
  if (await readTurn(redis, keys, id as EntryId)) return id as EntryId;
  const ofLetter = (await fieldOfLetter(redis, keys, id, 'entry')) as EntryId | undefined;
  if (ofLetter !== undefined) return ofLetter;
  const [outcome] = await matching(outcomesIn(redis, keys).since(msOf(id)), ({ entry }) => entry === id, 1);
  return outcome?.entry;
}

/** Messages under way first, then the ledger from its end: an alert is about something recent. */
async function findByTrace(source: ReportSource, traceId: string): Promise<MessageName[]> {
  for (const [shard, keys] of shardsOf(source).entries()) {
    const pending = await pendingOfTrace(source.redis, keys, traceId);
    const newest = outcomesIn(source.redis, keys).newest(LOOKED_AT_MAX);
    const entry = pending ?? (await matching(newest, (record) => record.traceId === traceId, 1))[0]?.entry;
    if (entry !== undefined) return [{ shard, keys, entry }];
  }
  return [];
}
