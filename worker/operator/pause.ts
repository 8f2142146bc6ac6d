import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, type Pause, pauseChat, resumeChat } from '../../shared/state/lane/pauses.ts';
import { nowOf } from '../report/source.ts';
import { type Order, writeDown } from './trail.ts';

/** Where an operator acts. */
export interface Installation {
  redis: RedisClient;
  /** The number of shards. */
  shards: number;
}

/**
 * Pauses a chat, or every chat: what runs ends as it would, and nothing new begins. Messages are accepted all the same
 * and wait in their lanes. Returns false when it was paused already; the first pause then stays.
 *
 * Contract: rejects when Redis cannot be reached. Idempotent; a process that is killed half-way through the shards of
 * `*` leaves the others running, and the same call pauses them.
 */
export async function pause(at: Installation, chat: ChatKey | typeof EVERY_CHAT, order: Order): Promise<boolean> {
  await writeDown(at.redis, 'pause', chat, order);
  let isNew = false;
  for (const keys of shardsOf(at, chat)) {
    const pause: Pause = { chat, sinceMs: await nowOf(at.redis, keys.paused), ...order };
    isNew = (await pauseChat(at.redis, keys, pause)) || isNew;
  }
  return isNew;
}

/**
 * Ends a pause. The reconciler makes the lanes' heads jobs again, within seconds. Returns false when there was none. A
 * chat stays paused while every chat is, and the other way round. Contract: as at `pause`.
 */
export async function resume(at: Installation, chat: ChatKey | typeof EVERY_CHAT, order: Order): Promise<boolean> {
  await writeDown(at.redis, 'resume', chat, order);
  let hasEnded = false;
  for (const keys of shardsOf(at, chat)) hasEnded = (await resumeChat(at.redis, keys, chat)) || hasEnded;
  return hasEnded;
}

function shardsOf({ shards }: Installation, chat: ChatKey | typeof EVERY_CHAT): Keys[] {
  if (chat === EVERY_CHAT) return Array.from({ length: shards }, (_, shard) => keysOf(shard));
  return [keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, shards))];
}
