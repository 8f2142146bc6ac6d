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
import { findMatching, messageName, type ReportSource, shardsOf, UnknownName } from './report.ts';

/** The place of a message without an outcome. Times are ms since the epoch. */
export type MessageLocation =
  /** Accepted, but not yet admitted to a lane. */
  | { at: 'stream' }
  /** Behind other messages of its lane, as many as `position` says. `behind` is the head of the lane. */
  | { at: 'lane'; position: number; behind: EntryId }
  /** At the head of its lane; its job waits for a worker. */
  | { at: 'queue' }
  | { at: 'running'; sinceMs?: number; step: string; attempt: number }
  | { at: 'delayed'; untilMs: number; reason?: string }
  /** At the head of its lane until a person decides, at most until `untilMs`. */
  | { at: 'parked'; untilMs: number }
  /** At the head of its lane without a job; the reconciler adds one within seconds. */
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

/** An entry id as in alerts, spans and the log, with an optional `<shard>/` in front. */
export const ENTRY_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
export const TRACE_NAME = /^[\da-f]{32}$/;

const NAME_CHARS = 40;
const NAMES_CHARS = 300;
/** The maximum number of records to search in a shard's ledger: about as many as a busy month has. */
const RECORDS_SEARCHED_MAX = 2_000_000;

/**
 * Finds the messages with an entry id, a trace id, or the id of a dead letter. Different shards may have the same entry id
 * or letter id, so there may be several.
 */
async function findMessages(source: ReportSource, text: string): Promise<MessageName[]> {
  if (TRACE_NAME.test(text)) return findByTrace(source, text);
  const [, shard, id] = ENTRY_NAME.exec(text) ?? [];
  if (id === undefined) return [];
  const allShards = shardsOf(source).map((keys, at) => ({ shard: at, keys }));
  const shards = shard === undefined ? allShards : allShards.filter(({ shard: at }) => at === Number(shard));
  const found = await Promise.all(shards.map(async (at) => ({ ...at, entry: await entryIn(source, at.keys, id) })));
  return found.flatMap(({ entry, ...each }) => (entry === undefined ? [] : [{ ...each, entry }]));
}

/** Finds the message with the given id. Throws `UnknownName` if there is none, or more than one. */
export async function resolveMessage(source: ReportSource, id: string): Promise<MessageName> {
  const [name, ...others] = await findMessages(source, id);
  if (name === undefined) throw unknownMessage(id);
  if (others.length === 0) return name;
  const all = [name, ...others].map(({ shard, entry }) => `${shard}/${entry}`);
  const which = clip(all.join(', '), NAMES_CHARS);
  throw new UnknownName(`There are ${all.length} messages ${id}. Which one? ${which}`, all.map(messageName));
}

export function unknownMessage(id: string): UnknownName {
  return new UnknownName(
    `Nothing is known about a message “${clip(id, NAME_CHARS)}”. Name a message by its entry, such as 1700000000000-0, its trace or its dead letter. Outcomes are kept for LEDGER_RETENTION_DAYS (90 by default).`,
  );
}

async function entryIn({ redis }: ReportSource, keys: Keys, id: string): Promise<EntryId | undefined> {
  if (await readEntry(redis, keys, id)) return id as EntryId;
  if (await readTurn(redis, keys, id as EntryId)) return id as EntryId;
  const letterEntry = (await fieldOfLetter(redis, keys, id, 'entry')) as EntryId | undefined;
  if (letterEntry !== undefined) return letterEntry;
  const [outcome] = await findMatching(outcomesIn(redis, keys).since(msOf(id)), ({ entry }) => entry === id, 1);
  return outcome?.entry;
}

/** Finds a message by its trace id: in each shard, first among pending messages, then in the ledger, newest first. */
async function findByTrace(source: ReportSource, traceId: string): Promise<MessageName[]> {
  for (const [shard, keys] of shardsOf(source).entries()) {
    const pending = await pendingOfTrace(source.redis, keys, traceId);
    const newest = outcomesIn(source.redis, keys).newest(RECORDS_SEARCHED_MAX);
    const entry = pending ?? (await findMatching(newest, (record) => record.traceId === traceId, 1))[0]?.entry;
    if (entry !== undefined) return [{ shard, keys, entry }];
  }
  return [];
}
