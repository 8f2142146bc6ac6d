import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';

/** A chat, or with `*` every chat of a shard, whose messages wait because an operator said so. */
export interface Pause {
  chat: ChatKey | typeof EVERY_CHAT;
  /** Ms since the epoch, by Redis' clock. */
  sinceMs: number;
  by: string;
  why: string;
}

/** The field of a shard's pauses that stands for all of its chats. */
export const EVERY_CHAT = '*';

/** Pauses a chat. Returns false when it is paused already; that pause stays. Rejects when Redis cannot be reached. */
export async function pauseChat(redis: RedisClient, keys: Keys, pause: Pause): Promise<boolean> {
  return (await redis.hsetnx(keys.paused, pause.chat, JSON.stringify(pause))) === 1;
}

/** Ends a pause. Returns false when there was none. Rejects when Redis cannot be reached. */
export async function resumeChat(redis: RedisClient, keys: Keys, chat: Pause['chat']): Promise<boolean> {
  return (await redis.hdel(keys.paused, chat)) === 1;
}

/** The pauses of a shard, oldest first. Rejects when Redis cannot be reached. */
export async function readPauses(redis: RedisClient, keys: Keys): Promise<Pause[]> {
  const fields = Object.entries(await redis.hgetall(keys.paused));
  return fields.map(([chat, text]) => pauseOf(chat, text)).sort((one, other) => one.sinceMs - other.sinceMs);
}

/** What cannot be read pauses all the same. */
function pauseOf(chat: string, text: string): Pause {
  const unknown = { chat: chat as Pause['chat'], sinceMs: 0, by: 'unknown', why: '' };
  try {
    return { ...unknown, ...(JSON.parse(text) as Partial<Pause>) };
  } catch {
    return unknown;
  }
}
