import { jsonFields } from '../../base/fields.ts';
import { traceIdOf } from '../../base/telemetry.ts';
import type { Outcome } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys, SessionId } from '../../redis/keys.ts';
import { entriesFrom, fieldIn, msOf } from '../../redis/stream.ts';
import type { Change } from '../change.ts';
import type { CallRecord } from '../spending/usage-book.ts';
import type { Turn } from '../turn/turn.ts';

/** An event of the audit trail, as it is kept. */
export type KeptEvent = AuditEvent & { entry: string; chat: string; traceId: string; atMs: number };

const PAGE = 1_000;
const DAY_SECONDS = 24 * 3600;

/** A line of the audit trail about a message, for a fenced write. */
export function auditLine({ entry, chat, keys, traceparent }: Turn, event: { event: string }): Change {
  const record = JSON.stringify({ entry, chat, traceId: traceIdOf(traceparent), atMs: Date.now(), ...event });
  return ['XADD', keys.events, '*', 'event', event.event, 'record', record];
}

/** The ledger of a shard: a record for each message that ended. */
export const outcomesIn = (redis: RedisClient, keys: Keys) => recordsOf<OutcomeRecord>(redis, keys.outcomes);
/** The audit trail of a shard. */
export const eventsIn = (redis: RedisClient, keys: Keys) => recordsOf<KeptEvent>(redis, keys.events);
/** How the messages ended whose dead letters a shard keeps. */
export const letterRecordsIn = (redis: RedisClient, keys: Keys) => recordsOf<OutcomeRecord>(redis, keys.dead);

/** How the newest messages of all shards ended, the newest first, of so many that are looked at in each. */
export async function newestOutcomes(
  redis: RedisClient,
  shards: readonly Keys[],
  lookedAtMax: number,
): Promise<Partial<OutcomeRecord>[]> {
  const all = await Promise.all(
    shards.map(({ outcomes }) => redis.xrevrange(outcomes, '+', '-', 'COUNT', lookedAtMax)),
  );
  // Ids never step back, whatever the clock does.
  const newest = all.flat().sort(([one], [other]) => msOf(other) - msOf(one));
  return newest.flatMap(([, fields]) => (jsonFields(fieldIn(fields, 'record')) as OutcomeRecord | undefined) ?? []);
}

/** Removes the oldest of the ledger and the audit trail, by the clock that named them; some thousands at once, at most. */
export async function forgetRecordsOlderThan(redis: RedisClient, keys: Keys, days: number): Promise<void> {
  const [seconds] = await redis.time();
  const oldest = String(Math.max(0, Number(seconds) - days * DAY_SECONDS) * 1_000);
  for (const stream of [keys.outcomes, keys.events]) await redis.xtrim(stream, 'MINID', '~', oldest);
}

/** The records of a shard. Each reader rejects when Redis cannot be reached, and leaves out what cannot be read. */
function recordsOf<T extends object>(redis: RedisClient, stream: string) {
  return {
    /** Oldest first. */
    since: (fromMs: number) => recordsSince<T>(redis, stream, fromMs),
    /** As they are stored, oldest first. */
    textsSince: (fromMs: number) => recordTexts(redis, stream, fromMs),
    /** The newest first, of at most so many that are looked at. */
    newest: (max: number) => newestRecords<T>(redis, stream, max),
  };
}

/** The `record` texts of a stream since a time, oldest first, read in pages. */
async function* recordTexts(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<string> {
  for await (const [, fields] of entriesFrom(redis, stream, `${Math.max(0, fromMs)}-0`, { page: PAGE }))
    yield fieldIn(fields, 'record') ?? '';
}

/** The records of a stream since a time, without those that cannot be read. */
async function* recordsSince<T extends object>(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<T> {
  for await (const text of recordTexts(redis, stream, fromMs)) {
    const record = jsonFields(text) as T | undefined;
    if (record) yield record;
  }
}

/** The newest records of a stream first, without those that cannot be read, at most `max` looked at. */
async function* newestRecords<T extends object>(redis: RedisClient, stream: string, max: number): AsyncGenerator<T> {
  let looked = 0;
  for await (const [, fields] of entriesFrom(redis, stream, '+', { page: PAGE, isBackwards: true })) {
    const record = jsonFields(fieldIn(fields, 'record')) as T | undefined;
    if (record) yield record;
    looked += 1;
    if (looked >= max) return;
  }
}

/** Telegram's word on the parts of a reply: the ledger's proof that `answered` was seen. */
export interface DeliveryRecord {
  parts: number;
  /** Telegram has confirmed them. */
  confirmed: number;
  /** Repeated and marked as such; Telegram did not say whether it took the repeat. */
  unsure: number;
}

/** One line of the ledger: how a message ended. Times are ms since the epoch. */
export interface OutcomeRecord {
  entry: EntryId;
  chat?: ChatKey;
  outcome: Outcome;
  /** A short code, e.g. `prompt_too_long`; absent for a plain answer. */
  reason?: string;
  /** The message into which this one was merged. */
  into?: EntryId;
  traceId: string;
  sentAtMs?: number;
  settledAtMs: number;
  attempts: number;
  recoveries: number;
  session?: SessionId;
  /** Absent where nothing was sent, and in what a version before 0.3 wrote. */
  delivery?: DeliveryRecord;
}

/** A step of a message that the audit trail records, besides the outcomes. Content never gets in here. */
export type AuditEvent =
  | {
      event: 'context.exceeded';
      /** Whether our own count detected it before the call, or the provider after it. */
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
      /** On trial, the chat leaves its session only once the model answers in the new one. */
      isTrial: boolean;
      hasSummary: boolean;
    }
  /** Unreadable lines of a session log. They keep their place and are not shown. */
  | { event: 'session.torn'; records: number }
  /** A request broke a rule of the API and was not sent. */
  | { event: 'request.invalid'; rule: string }
  /** Parts of messages that were too large, or not accepted, are no longer shown; `bytes` is their former size. */
  | { event: 'context.scrubbed'; action: 'scrub' | 'shorten'; kind: string; parts: number; bytes: number }
  | { event: 'context.thinking-dropped'; reason: string }
  /** The view shows each old tool result as one line; no summary was needed. */
  | { event: 'context.force-pruned'; tokensBefore: number; tokensAfter: number }
  /** A call; its account writes the line. Before version 0.4 the answers of a compaction were one line without `dollars`. */
  | CallRecord
  /** A payload was cut before it was first sent; `chars` is its original length. */
  | { event: 'message.capped'; kind: 'tool_result' | 'document'; chars: number }
  | { event: 'context.output-lowered' | 'context.output-raised'; maxOutputTokens: number }
  | { event: 'context.gave-up'; reason: string }
  /** A question was decided, by this person or by nobody; `tools` waited for an approval. */
  | { event: 'question.decided'; of: EntryId; how: string; by: number | undefined; tools: readonly string[] }
  /** The API refused a tool by name; the process continues without it. */
  | { event: 'tool.excluded'; tool: string };
