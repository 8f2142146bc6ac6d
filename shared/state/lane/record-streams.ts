import type { Attempt } from '../../../worker/lane/attempt.ts';
import type { AuditEvent } from '../../../worker/lane/events.ts';
import type { OutcomeRecord } from '../../../worker/lane/lane.ts';
import { jsonFields } from '../../base/fields.ts';
import { traceIdOf } from '../../base/telemetry.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { entriesFrom, fieldIn, msOf } from '../../redis/stream.ts';
import type { Change } from '../change.ts';

/** An event of the audit trail, as it is kept. */
export type KeptEvent = AuditEvent & { entry: string; chat: string; traceId: string; atMs: number };

const PAGE = 1_000;
const DAY_SECONDS = 24 * 3600;

/** A line of the audit trail about a message, for a fenced write. */
export function auditLine({ entry, chat, keys, traceparent }: Attempt, event: { event: string }): Change {
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
