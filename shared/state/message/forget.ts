import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, commandLaneOf, type Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Change } from '../change.ts';

/**
 * Makes changes that forget a chat in one step, unless messages of it wait or are being answered. Returns how many there
 * are: then nothing changed. Rejects when Redis cannot be reached.
 */
export function forgetUnlessUnderWay(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  changes: readonly Change[],
): Promise<number> {
  const run = bindScript<number>(redis, join(import.meta.dirname, 'forget.lua'));
  const words = changes.flatMap((change) => [change.length, ...change]);
  return run([keys.lane(chat), keys.lane(commandLaneOf(chat)), keys.absent], words);
}
