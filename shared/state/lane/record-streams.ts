import { jsonFields } from '../../base/fields.ts';
import { traceIdOf } from '../../base/telemetry.ts';
import type { Outcome } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys, SessionId } from '../../redis/keys.ts';
import { entriesFrom, fieldIn, msOf } from '../../redis/stream.ts';
import type { Change } from '../change.ts';
import type { CallRecord } from '../spending/usage-book.ts';
import type { Turn } from '../turn/turn.ts';

/** A stored event of the audit trail. */
export type StoredEvent = AuditEvent & { entry: string; chat: string; traceId: string; atMs: number };

const PAGE = 1_000;
const DAY_SECONDS = 24 * 3600;

/** A change that adds an event about a message to the audit trail, for a fenced write. */
export function auditLine({ entry, chat, keys, traceparent }: Turn, event: { event: string }): Change {
  const record = JSON.stringify({ entry, chat, traceId: traceIdOf(traceparent), atMs: Date.now(), ...event });
  return ['XADD', keys.events, '*', 'event', event.event, 'record', record];
}

/** The outcomes in a shard's ledger: one record for each message that ended. */
export const outcomesIn = (redis: RedisClient, keys: Keys) => recordsOf<OutcomeRecord>(redis, keys.outcomes);
/** The events in a shard's audit trail. */
export const eventsIn = (redis: RedisClient, keys: Keys) => recordsOf<StoredEvent>(redis, keys.events);
/** The outcomes of a shard's dead letters. */
export const letterRecordsIn = (redis: RedisClient, keys: Keys) => recordsOf<OutcomeRecord>(redis, keys.dead);

/** The readable records among the newest `perShardMax` outcomes of each shard, newest first. */
export async function newestOutcomes(
  redis: RedisClient,
  shards: readonly Keys[],
  perShardMax: number,
): Promise<Partial<OutcomeRecord>[]> {
  const all = await Promise.all(
    shards.map(({ outcomes }) => redis.xrevrange(outcomes, '+', '-', 'COUNT', perShardMax)),
  );
  // Sort by stream ids: the ids of a shard always grow, even when the clock steps back.
  const newest = all.flat().sort(([one], [other]) => msOf(other) - msOf(one));
  return newest.flatMap(([, fields]) => (jsonFields(fieldIn(fields, 'record')) as OutcomeRecord | undefined) ?? []);
}

/** Trims outcomes and events older than `days` by the clock of Redis. `XTRIM ~` may leave some until a later call. */
export async function forgetRecordsOlderThan(redis: RedisClient, keys: Keys, days: number): Promise<void> {
  const [seconds] = await redis.time();
  const oldest = String(Math.max(0, Number(seconds) - days * DAY_SECONDS) * 1_000);
  for (const stream of [keys.outcomes, keys.events]) await redis.xtrim(stream, 'MINID', '~', oldest);
}

/** Readers of a stream of records. Each rejects when Redis cannot be reached. */
function recordsOf<T extends object>(redis: RedisClient, stream: string) {
  return {
    /** Readable records, oldest first. */
    since: (fromMs: number) => recordsSince<T>(redis, stream, fromMs),
    /** JSON texts of all records, oldest first. */
    textsSince: (fromMs: number) => recordTexts(redis, stream, fromMs),
    /** The readable records among the newest `max`, newest first. */
    newest: (max: number) => newestRecords<T>(redis, stream, max),
  };
}

/** The `record` texts of a stream since a time, oldest first. */
async function* recordTexts(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<string> {
  for await (const [, fields] of entriesFrom(redis, stream, `${Math.max(0, fromMs)}-0`, { page: PAGE }))
    yield fieldIn(fields, 'record') ?? '';
}

/** The readable records of a stream since a time, oldest first. */
async function* recordsSince<T extends object>(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<T> {
  for await (const text of recordTexts(redis, stream, fromMs)) {
    const record = jsonFields(text) as T | undefined;
    if (record) yield record;
  }
}

/** The readable records among the newest `max` of a stream, newest first. */
async function* newestRecords<T extends object>(redis: RedisClient, stream: string, max: number): AsyncGenerator<T> {
  for await (const [, fields] of entriesFrom(redis, stream, '+', { page: PAGE, isBackwards: true, max })) {
    const record = jsonFields(fieldIn(fields, 'record')) as T | undefined;
    if (record) yield record;
  }
}

/** How many parts of a reply Telegram confirmed: the ledger's proof of delivery. */
export interface DeliveryRecord {
  parts: number;
  /** Parts that Telegram confirmed. */
  confirmed: number;
  /** Parts that were sent again, with a note to the user; Telegram confirmed neither send. */
  unsure: number;
}

/** One line of the ledger: how a message ended. Times are ms since the epoch. */
export interface OutcomeRecord {
  entry: EntryId;
  chat?: ChatKey;
  outcome: Outcome;
  /** A short code, e.g. `prompt_too_long`; absent e.g. for a plain answer or a merge. */
  reason?: string;
  /** The message into which this one was merged. */
  into?: EntryId;
  traceId: string;
  sentAtMs?: number;
  settledAtMs: number;
  attempts: number;
  recoveries: number;
  session?: SessionId;
  /** Absent if nothing was sent, and in records from before version 0.3. */
  delivery?: DeliveryRecord;
}

/** An event of the audit trail, which records the steps of a message. Events hold no content of messages. */
export type AuditEvent =
  | {
      event: 'context.exceeded';
      /** `counted`: the gateway found the request too large before the call. `refused`: the provider refused the call. */
      phase: 'counted' | 'refused';
      kind: string;
      stage: string;
      reason: string;
      observedTokens?: number;
      limitTokens?: number;
    }
  | { event: 'context.compacted'; tokensBefore: number; tokensAfter: number; calls: number; summaryChars: number }
  | { event: 'context.compaction-failed'; reason: string; calls: number }
  | {
      event: 'context.new-session';
      entries: number;
      seedChars: number;
      from: string;
      to: string;
      bytesRead: number;
      tookMs: number;
      /** Whether the chat changes its session only once the model answers in the new one. */
      isTrial: boolean;
      hasSummary: boolean;
    }
  /** Unreadable records of a session log. They stay in the log, and requests omit them. */
  | { event: 'session.torn'; records: number }
  /** A request broke a rule of the API, so the gateway did not send it. */
  | { event: 'request.invalid'; rule: string }
  /** Placeholders replaced message parts that were too large or not accepted; `bytes` is the former size of these parts. */
  | { event: 'context.scrubbed'; action: 'scrub' | 'shorten'; kind: string; parts: number; bytes: number }
  | { event: 'context.thinking-dropped'; reason: string }
  /** Masks of one line replaced old tool results in the requests, so that no summary was necessary. */
  | { event: 'context.force-pruned'; tokensBefore: number; tokensAfter: number }
  /** A call of a model or a transcriber. Before version 0.4 the calls of a compaction shared one event without `dollars`. */
  | CallRecord
  /** A payload was truncated before its first send; `chars` is its original length. */
  | { event: 'message.capped'; kind: 'tool_result' | 'document'; chars: number }
  | { event: 'context.output-lowered' | 'context.output-raised'; maxOutputTokens: number }
  | { event: 'context.gave-up'; reason: string }
  /**
   * A question was decided by a person (`by`), or by nobody, because the question expired or could not be sent. `tools`: the
   * tools that a button approved or declined; otherwise empty.
   */
  | { event: 'question.decided'; of: EntryId; how: string; by: number | undefined; tools: readonly string[] }
  /** The API refused a tool by name; the process continues without it. */
  | { event: 'tool.excluded'; tool: string };
