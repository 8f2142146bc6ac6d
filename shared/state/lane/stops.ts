import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Attribution } from '../process/actions.ts';

/** A chat, or with `*` every chat of a shard, whose messages wait because an operator said so. */
export interface Pause extends Attribution {
  chat: ChatKey | typeof EVERY_CHAT;
  /** Ms since the epoch, by Redis' clock. */
  sinceMs: number;
}

/** The field of a shard's pauses that stands for all of its chats. */
export const EVERY_CHAT = '*';

/** The pauses of a shard, oldest first. Rejects when Redis cannot be reached. */
export async function readPauses(redis: RedisClient, keys: Keys): Promise<Pause[]> {
  const fields = Object.entries(await redis.hgetall(keys.paused));
  return fields.map(([chat, text]) => pauseOf(chat, text)).sort((one, other) => one.sinceMs - other.sinceMs);
}

/** The pause that holds a chat, if any. Pure. */
export function pauseOfChat(pauses: readonly Pause[], chat: ChatKey): Pause | undefined {
  return pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
}

/** Pauses a chat of a shard. Returns false when it was paused already; the first pause then stays. */
export async function addPause(redis: RedisClient, keys: Keys, pause: Pause): Promise<boolean> {
  return (await redis.hsetnx(keys.paused, pause.chat, JSON.stringify(pause))) === 1;
}

/** Ends a pause. Returns false when there was none. */
export async function removePause(redis: RedisClient, keys: Keys, chat: Pause['chat']): Promise<boolean> {
  return (await redis.hdel(keys.paused, chat)) > 0;
}

/** A pause that cannot be read pauses all the same. */
function pauseOf(chat: string, text: string): Pause {
  const unknown = { chat: chat as Pause['chat'], sinceMs: 0, by: 'unknown', why: '' };
  try {
    return { ...unknown, ...(JSON.parse(text) as Partial<Pause>) };
  } catch {
    return unknown;
  }
}

/** The result of cancelling a message; `merged`: it went into another one, and ends as that one does. */
export type Cancelled = 'cancelled' | 'repeated' | 'gone' | 'answered' | 'command' | 'merged';
/** The result of cancelling a chat; `idle`: nothing waits. */
export type ChatCancelled = 'cancelled' | 'repeated' | 'idle';

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
