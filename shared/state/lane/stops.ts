import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { endOrder, type Order, readOrders } from '../orders.ts';

/** A chat, or with `*` every chat of a shard, whose messages wait because an operator said so. */
export type Pause = Order<ChatKey | typeof EVERY_CHAT>;

/** The field of a shard's pauses that stands for all of its chats. */
export const EVERY_CHAT = '*';

/** The pauses of a shard, oldest first. Rejects when Redis cannot be reached. */
export function readPauses(redis: RedisClient, keys: Keys): Promise<Pause[]> {
  return readOrders(redis, keys.paused);
}

/** A message is overdue long before that. */
const RESUMED_SECONDS = 86_400;

/**
 * Ends a pause, and notes when: what waited for it is not overdue at once. Returns false when there was none. Rejects when
 * Redis cannot be reached. Idempotent.
 */
export async function endPause(redis: RedisClient, keys: Keys, chat: Pause['chat'], nowMs: number): Promise<boolean> {
  if ((await redis.hexists(keys.paused, chat)) === 0) return false;
  // Killed after the first command, the pause stands, and is ended by the next call.
  await redis.multi().hset(keys.resumed, chat, nowMs).expire(keys.resumed, RESUMED_SECONDS).exec();
  return endOrder(redis, keys.paused, chat);
}

/** The pause that holds a chat, if any. Pure. */
export function pauseOfChat(pauses: readonly Pause[], chat: ChatKey): Pause | undefined {
  return pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
}

/** The result of cancelling a message; `merged`: it went into another one, and ends as that one does. */
export type Cancelled = 'cancelled' | 'repeated' | 'gone' | 'answered' | 'command' | 'merged';
/** The result of cancelling a chat; `idle`: nothing waits. */
type ChatCancelled = 'cancelled' | 'repeated' | 'idle';

/** Longer than anybody sends a request again. */
const ASKED_SECONDS = 3600;

/** Marks one message as cancelled: its own turn then ends it. `by` is who cancels it. Idempotent. */
export function markCancelled(redis: RedisClient, keys: Keys, entry: EntryId, by: string): Promise<Cancelled> {
  const run = bindScript<Cancelled>(redis, join(import.meta.dirname, 'cancel-message.lua'));
  return run([keys.inbound, keys.turn(entry)], [entry, by]);
}

/** Accepts a message that stops all that a chat waits for, unless the last one does so already. */
export async function acceptStop(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  stop: { message: string; traceparent: string },
): Promise<ChatCancelled> {
  const run = bindScript<[ChatCancelled, string]>(redis, join(import.meta.dirname, 'cancel-chat.lua'));
  const keysAt = [keys.inbound, keys.counts, keys.lane(chat), keys.absent, keys.admitted(randomUUID())];
  const [result] = await run(keysAt, [chat, stop.message, stop.traceparent, ASKED_SECONDS]);
  return result;
}
