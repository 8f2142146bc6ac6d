import type { RedisClient } from '../redis/connection.ts';

/**
 * A change of the state: one Redis command. Only the verbs of `shared/state/` make changes; they are applied together, in
 * order, by a fenced write (`Attempt.write`) or by a transaction of a store.
 */
export type Change = readonly [name: string, ...args: (string | number)[]];

/** Makes changes together, outside any turn. Rejects when Redis cannot be reached. */
export async function applyTogether(redis: RedisClient, changes: readonly Change[]): Promise<void> {
  const transaction = redis.multi();
  for (const [name, ...words] of changes) transaction.call(name, ...words);
  await transaction.exec();
}
