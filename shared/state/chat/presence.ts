import type { RedisClient } from '../../redis/connection.ts';
import { keysOf, shardOf } from '../../redis/keys.ts';

/** What Telegram says of the bot in a chat: that it was blocked or removed, or that it may write again. */
export interface Presence {
  chatId: number;
  isGone: boolean;
  /** A full second. */
  atMs: number;
}

/**
 * Notes whether the bot may write in a chat: of what comes in any order, or again, the newest stands, and of one second
 * the return. The ids of updates say nothing of it, since they begin anew after a quiet week. Rejects when Redis cannot be
 * reached.
 */
export async function notePresence(
  redis: Pick<RedisClient, 'zadd'>,
  shards: number,
  { chatId, isGone, atMs }: Presence,
): Promise<void> {
  await redis.zadd(keysOf(shardOf(chatId, shards)).gone, 'GT', atMs + (isGone ? 0 : 1), chatId);
}

/** Since when the bot is not in a chat, from what is noted; 0: it is there. Pure. */
export function goneMsOf(noted: string): number {
  return Number(noted) % 2 === 0 ? Number(noted) : 0;
}
