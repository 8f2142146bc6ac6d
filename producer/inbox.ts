import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { type EntryId, keysOf, shardOf } from '../shared/keys.ts';
import { encodeMessage, type InboundMessage, laneOf } from '../shared/message.ts';
import { bindScript } from '../shared/script.ts';

/** Telegram redelivers for 24 hours; twice that covers clocks that disagree. */
const SEEN_SECONDS = 48 * 3600;

/**
 * The way in. `accept` stores a message durably, once per update id.
 *
 * Contract: rejects when Redis cannot store it (away, out of memory, out of disk), and then nothing was accepted for
 * sure only if it is called again: it is idempotent per update id.
 */
export interface Inbox {
  accept(botId: number, message: InboundMessage, traceparent: string): Promise<{ entry: EntryId; duplicate: boolean }>;
}

/** An inbox over a fail-fast connection. */
export function createInbox(redis: Redis, shards: number): Inbox {
  const run = bindScript<[number, EntryId]>(redis, join(import.meta.dirname, 'accept.lua'));
  return {
    async accept(botId, message, traceparent) {
      const keys = keysOf(shardOf(message.chatId, shards));
      const [added, entry] = await run(
        [keys.seen(botId, message.updateId), keys.inbound, keys.counts],
        [SEEN_SECONDS, laneOf(message), encodeMessage(message), traceparent],
      );
      return { entry, duplicate: added === 0 };
    },
  };
}
