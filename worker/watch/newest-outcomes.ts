import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { fieldsOf, msOf } from '../../shared/redis/stream.ts';
import type { Ended } from './verdict.ts';

/** Enough to find ten messages that asked the model behind commands and merged ones. */
const READ_MAX = 40;

/** How the newest messages of all shards ended, the newest first. Rejects when Redis cannot be reached. */
export async function readNewestOutcomes(redis: RedisClient, shards: number): Promise<Ended[]> {
  const all = await Promise.all(
    Array.from({ length: shards }, (_, shard) => redis.xrevrange(keysOf(shard).outcomes, '+', '-', 'COUNT', READ_MAX)),
  );
  return (
    all
      .flat()
      // Ids never step back, whatever the clock does.
      .sort(([one], [other]) => msOf(other) - msOf(one))
      .flatMap(([, fields]) => readable(fieldsOf(fields).get('record')))
  );
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
