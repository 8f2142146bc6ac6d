import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldsOf } from '../../redis/stream.ts';

/** The state of alert delivery in the whole installation. Times are ms since the epoch by Redis' clock. */
export interface AlertingRecord {
  /** The time at which an alert last reached an operator. */
  lastSentMs?: number;
  /** Set while no alert reaches an operator. */
  failing?: { sinceMs: number; why: string; tries: number; retryAtMs: number };
  /** The old and the new id of the operators' group, if it became a supergroup. */
  moved?: { from: number; to: number };
  /** The times of the messages sent in the last minute, for the rate limit. */
  sentMs: readonly number[];
  /** The time at which this record was made. */
  atMs?: number;
}

/**
 * The lock of the process that delivers alerts. The lock expires, so that another process can take over from a killed owner.
 * That process may then send the last message again. Each method rejects when Redis cannot be reached.
 */
export function deliveryTurn(redis: RedisClient) {
  const { incidents, alerting, alertingLock } = keysOf(0);
  const script = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
  const begin = script<[] | [nowMs: number, fields: string[]]>('begin-delivery');
  const end = script<0 | 1>('end-delivery');
  return {
    /** Takes the lock; returns `undefined` while the lock has an owner. */
    async begin(owner: string, forMs: number): Promise<{ nowMs: number; record: AlertingRecord } | undefined> {
      const [nowMs, fields = []] = await begin([alerting, alertingLock], [owner, forMs]);
      return nowMs === undefined ? undefined : { nowMs, record: recordOf(fieldsOf(fields)) };
    },
    /** Stores the delivery states of incidents, as JSON, and releases the lock. Does nothing if another owner has it. */
    async end(owner: string, delivered: readonly (readonly [name: string, json: string])[], record: AlertingRecord) {
      await end(
        [incidents, alerting, alertingLock],
        [owner, delivered.length, ...delivered.flat(), ...fieldsIn(record)],
      );
    },
  };
}

/** Reads the state of alert delivery. Rejects when Redis cannot be reached. */
export async function readAlerting(redis: RedisClient): Promise<AlertingRecord> {
  return recordOf(new Map(Object.entries(await redis.hgetall(keysOf(0).alerting))));
}

function recordOf(fields: ReadonlyMap<string, string>): AlertingRecord {
  const number = (name: string) => Number(fields.get(name) ?? 0);
  const failing = { sinceMs: number('failingSinceMs'), why: fields.get('why') ?? '', tries: number('tries') };
  return {
    ...(fields.has('lastSentMs') && { lastSentMs: number('lastSentMs') }),
    ...(fields.has('failingSinceMs') && { failing: { ...failing, retryAtMs: number('retryAtMs') } }),
    ...(fields.has('movedTo') && { moved: { from: number('movedFrom'), to: number('movedTo') } }),
    sentMs: (fields.get('sentMs') ?? '').split(',').filter(Boolean).map(Number),
    ...(fields.has('atMs') && { atMs: number('atMs') }),
  };
}

/** The fields of a record with their values; an empty value removes the field. */
function fieldsIn({ lastSentMs, failing, moved, sentMs, atMs }: AlertingRecord): (string | number)[] {
  return [
    ...['lastSentMs', lastSentMs ?? ''],
    ...['failingSinceMs', failing?.sinceMs ?? '', 'why', failing?.why ?? ''],
    ...['tries', failing?.tries ?? '', 'retryAtMs', failing?.retryAtMs ?? ''],
    ...['movedFrom', moved?.from ?? '', 'movedTo', moved?.to ?? ''],
    ...['sentMs', sentMs.join(','), 'atMs', atMs ?? ''],
  ];
}
