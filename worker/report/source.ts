import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';

/**
 * What a report is read from. A report only reads; it is a plain value that holds no words of any message. Contract of
 * every report: rejects when Redis cannot be reached.
 */
export interface ReportSource {
  redis: RedisClient;
  /** The number of shards. */
  shards: number;
}

/** The keys of all shards, in order. */
export function shardsOf({ shards }: Pick<ReportSource, 'shards'>): Keys[] {
  return Array.from({ length: shards }, (_, shard) => keysOf(shard));
}
