import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';

/** The state of alert delivery, for the whole installation. Times are ms since the epoch by Redis' clock. */
export interface AlertingRecord {
  /** When an alert last reached an operator. */
  lastSentMs?: number;
  /** Set while no alert reaches one. */
  failing?: { sinceMs: number; why: string; tries: number; retryAtMs: number };
  /** The new id of the operator's group after it became a supergroup. */
  moved?: { from: number; to: number };
  /** The times of the messages of the last hour. */
  sentMs: readonly number[];
  /** When this was written. */
  atMs?: number;
}

/** What two servers of a cluster may differ by. */
const STEP_MS = 60_000;

/** Reads the state of alert delivery. Rejects when Redis cannot be reached. */
export async function readAlerting(redis: RedisClient, keys: Keys): Promise<AlertingRecord> {
  return alertingOf(await redis.hgetall(keys.alerting));
}

/** A record from the fields of its hash. */
export function alertingOf(fields: Readonly<Record<string, string>>): AlertingRecord {
  const { lastSentMs, failingSinceMs, why, tries, retryAtMs, movedFrom, movedTo, sentMs, atMs } = fields;
  const failing = { sinceMs: Number(failingSinceMs), why: why ?? '', tries: Number(tries ?? 0) };
  return {
    ...(lastSentMs !== undefined && { lastSentMs: Number(lastSentMs) }),
    ...(failingSinceMs !== undefined && { failing: { ...failing, retryAtMs: Number(retryAtMs ?? 0) } }),
    ...(movedTo !== undefined && { moved: { from: Number(movedFrom), to: Number(movedTo) } }),
    sentMs: (sentMs ?? '').split(',').filter(Boolean).map(Number),
    ...(atMs !== undefined && { atMs: Number(atMs) }),
  };
}

/** The record by the clock as it is now: where that has stepped back since, all times step with it. Pure. */
export function byClock(record: AlertingRecord, nowMs: number): AlertingRecord {
  const stepMs = (record.atMs ?? 0) - nowMs;
  if (!(stepMs > STEP_MS)) return record;
  const { lastSentMs, failing, sentMs } = record;
  return {
    ...record,
    ...(lastSentMs !== undefined && { lastSentMs: lastSentMs - stepMs }),
    ...(failing && {
      failing: { ...failing, sinceMs: failing.sinceMs - stepMs, retryAtMs: failing.retryAtMs - stepMs },
    }),
    sentMs: sentMs.map((ms) => ms - stepMs),
  };
}

/** The fields of a record, for its hash; an empty value removes the field. */
export function alertingFields({ lastSentMs, failing, moved, sentMs, atMs }: AlertingRecord): (string | number)[] {
  return [
    ...['lastSentMs', lastSentMs ?? ''],
    ...['failingSinceMs', failing?.sinceMs ?? '', 'why', failing?.why ?? ''],
    ...['tries', failing?.tries ?? '', 'retryAtMs', failing?.retryAtMs ?? ''],
    ...['movedFrom', moved?.from ?? '', 'movedTo', moved?.to ?? ''],
    ...['sentMs', sentMs.join(','), 'atMs', atMs ?? ''],
  ];
}
