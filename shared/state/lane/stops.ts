import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { endOrder, type Order, readOrders } from '../orders.ts';

/** An operator's order that the messages of a chat wait, or with `*` the messages of every chat of a shard. */
export type Pause = Order<ChatKey | typeof EVERY_CHAT>;

/** The field of `Keys.paused` that stands for all chats of the shard. */
export const EVERY_CHAT = '*';

/** The pauses of a shard, oldest first. Rejects when Redis cannot be reached. */
export function readPauses(redis: RedisClient, keys: Keys): Promise<Pause[]> {
  return readOrders(redis, keys.paused);
}

/** The life of the stored ends of pauses. It must exceed the time after which a message is overdue. */
const RESUMED_SECONDS = 86_400;

/**
 * Ends a pause and stores the time, from which the paused messages' time until overdue starts. Returns false if there is no
 * such pause. Rejects when Redis cannot be reached. Idempotent.
 */
export async function endPause(redis: RedisClient, keys: Keys, chat: Pause['chat'], nowMs: number): Promise<boolean> {
  if ((await redis.hexists(keys.paused, chat)) === 0) return false;
  // If the process dies after this write and before the next one, the pause stays, and the next call ends it.
  await redis.multi().hset(keys.resumed, chat, nowMs).expire(keys.resumed, RESUMED_SECONDS).exec();
  return endOrder(redis, keys.paused, chat);
}

/** The pause that holds a chat, if any. Pure. */
export function pauseOfChat(pauses: readonly Pause[], chat: ChatKey): Pause | undefined {
  return pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
}

/** The result of cancelling a message: see cancel-message.lua. */
export type Cancelled = 'cancelled' | 'repeated' | 'gone' | 'answered' | 'command' | 'merged';
/** The result of cancelling a chat; `idle`: its lane is empty. */
type ChatCancelled = 'cancelled' | 'repeated' | 'idle';

/** The life of the stored reply that a request gets if ioredis sends it again after a lost connection. */
const REPLY_SECONDS = 3600;

/** Marks one message as cancelled: its own turn then ends it. `by` names the canceller. Idempotent. */
export function markCancelled(redis: RedisClient, keys: Keys, entry: EntryId, by: string): Promise<Cancelled> {
  const run = bindScript<Cancelled>(redis, join(import.meta.dirname, 'cancel-message.lua'));
  return run([keys.inbound, keys.turn(entry)], [entry, by]);
}

/** Accepts a /stop that cancels all waiting messages of a chat, unless the newest message is a /stop already. */
export async function acceptStop(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  stop: { message: string; traceparent: string },
): Promise<ChatCancelled> {
  const run = bindScript<[ChatCancelled, string]>(redis, join(import.meta.dirname, 'cancel-chat.lua'));
  const keysAt = [keys.inbound, keys.counts, keys.lane(chat), keys.absent, keys.admitted(randomUUID())];
  const [result] = await run(keysAt, [chat, stop.message, stop.traceparent, REPLY_SECONDS]);
  return result;
}
