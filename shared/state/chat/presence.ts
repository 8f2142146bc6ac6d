import type { RedisClient } from '../../redis/connection.ts';
import { keysOf, shardOf } from '../../redis/keys.ts';

/** What Telegram says of the bot in a chat: that it was blocked or removed, or that it may write again. */
export interface Presence {
  updateId: number;
  chatId: number;
  isGone: boolean;
  atMs: number;
}

/**
 * Notes whether the bot may write in a chat. An update that comes again after a newer one changes nothing. Rejects when
 * Redis cannot be reached.
 */
export async function notePresence(
  redis: Pick<RedisClient, 'hget' | 'hset'>,
  shards: number,
  { updateId, chatId, isGone, atMs }: Presence,
): Promise<void> {
  const { gone } = keysOf(shardOf(chatId, shards));
  const before = await redis.hget(gone, String(chatId));
  if (Number(before?.split(' ')[0] ?? 0) >= updateId || (before === null && !isGone)) return;
  await redis.hset(gone, chatId, `${updateId} ${isGone ? atMs : 0}`);
}

/** Since when the bot is not in a chat, from what is noted; 0: it is there. Pure. */
export function goneMsOf(noted: string): number {
  return Number(noted.split(' ')[1] ?? 0);
}
