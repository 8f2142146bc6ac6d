import { randomUUID } from 'node:crypto';
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

/** How long Redis stores the ends of pauses: longer than the time after which a message is overdue. */
const RESUMED_SECONDS = 86_400;

/**
 * Ends a pause and stores when it ended, because the time after which the paused messages are overdue starts then. Returns
 * false if there is no such pause. Rejects when Redis cannot be reached. Idempotent.
 */
export async function endPause(redis: RedisClient, keys: Keys, chat: Pause['chat'], nowMs: number): Promise<boolean> {
  if ((await redis.hexists(keys.paused, chat)) === 0) return false;
  // If the process dies after this write and before the next one, the pause stays, and the next call ends it.
  await redis.multi().hset(keys.resumed, chat, nowMs).expire(keys.resumed, RESUMED_SECONDS).exec();
  return endOrder(redis, keys.paused, chat);
}

/** A pause that applies to a chat, if any. Pure. */
export function pauseOfChat(pauses: readonly Pause[], chat: ChatKey): Pause | undefined {
  return pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
}

/**
 * The result of cancelling a message. `gone`: it has its outcome. `answered`: its reply is stored and on its way. `command`: it
 * cancels other messages itself. `merged`: it ends with the message into which it was merged.
 */
export type Cancelled = 'cancelled' | 'repeated' | 'gone' | 'answered' | 'command' | 'merged';
/** The result of cancelling a lane's messages. `repeated`: the newest of them is a /stop already. `idle`: there are none. */
type ChatCancelled = 'cancelled' | 'repeated' | 'idle';

/** How long Redis stores the added /stop, in case ioredis sends the request again after a lost connection. */
const REPLY_SECONDS = 3600;

/** Marks one message as cancelled, if possible; the message's own turn then ends it. `by` names the canceller. Idempotent. */
export function markCancelled(redis: RedisClient, keys: Keys, entry: EntryId, by: string): Promise<Cancelled> {
  const run = bindScript<Cancelled>(redis, `${import.meta.dirname}/cancel-message.lua`);
  return run([keys.inbound, keys.turn(entry)], [entry, by]);
}

/** Accepts a /stop that cancels all messages in a chat's lane, unless the lane is empty or its newest message is a /stop. */
export async function acceptStop(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  stop: { message: string; traceparent: string },
): Promise<ChatCancelled> {
  const run = bindScript<[ChatCancelled, string]>(redis, `${import.meta.dirname}/cancel-chat.lua`);
  const keysAt = [keys.inbound, keys.counts, keys.lane(chat), keys.absent, keys.admitted(randomUUID())];
  const [result] = await run(keysAt, [chat, stop.message, stop.traceparent, REPLY_SECONDS]);
  return result;
}
