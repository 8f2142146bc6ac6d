import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { eventsIn, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import type { Prices } from '../model/prices.ts';
import { createRollUp, type RollUp, type RollUpBuilder } from './roll-up.ts';
import { type ReportSource, shardsOf } from './source.ts';

/** Adds up the ledger and the audit trail since a time. Contract: as at `ReportSource`. */
export async function readRollUp(source: ReportSource, fromMs: number, prices?: Prices): Promise<RollUp> {
  const builder = createRollUp(prices);
  for (const keys of shardsOf(source)) await addShard(source.redis, keys, fromMs, builder);
  return builder.result();
}

async function addShard(redis: RedisClient, keys: Keys, fromMs: number, builder: RollUpBuilder): Promise<void> {
  for await (const record of outcomesIn(redis, keys).textsSince(fromMs)) add(record, builder.addOutcome, builder);
  for await (const record of eventsIn(redis, keys).textsSince(fromMs)) add(record, builder.addEvent, builder);
}

/** Counts a record that cannot be read, or lacks a part, as unreadable: it must not hide all the others. */
function add<T extends object>(text: string, take: (record: T) => void, builder: RollUpBuilder): void {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null) throw new TypeError('a record is an object');
    take(record as T);
  } catch {
    builder.addUnreadable();
  }
}
