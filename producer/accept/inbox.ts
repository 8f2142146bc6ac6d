import { join } from 'node:path';
import { alertCommand } from '../../shared/flow/alert.ts';
import { createLossTeller, type TellLoss } from '../../shared/flow/data-loss.ts';
import { encodeMessage, type InboundMessage, laneOf } from '../../shared/flow/message.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type EntryId, keysOf, shardOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { cancels, commandOf, isPermitted } from '../../shared/telegram/commands.ts';
import type { GroupMove } from './read-move.ts';

/** Telegram redelivers for 24 hours; twice that covers clocks that disagree. */
const SEEN_SECONDS = 48 * 3600;

/**
 * The way in. `accept` stores a message durably, once per update id.
 *
 * Contract: rejects when Redis cannot store the message (unreachable, out of memory, out of disk). The message may be
 * stored all the same, so the caller retries: `accept` is idempotent per update id. When an acceptance shows that Redis
 * lost earlier ones, it raises an alert.
 */
export interface Inbox {
  /** Alerts that a group goes on under another id. Rejects when Redis cannot store the alert. */
  reportMove(move: GroupMove): Promise<void>;
  accept(botId: number, message: InboundMessage, traceparent: string): Promise<{ entry: EntryId; duplicate: boolean }>;
}

/** The command with which a message cancels earlier messages of its chat; empty when it is no such command. */
function cancelledBy({ content, from }: InboundMessage): string {
  const command = content.kind === 'text' ? commandOf(content.text) : undefined;
  return command && cancels(command) && isPermitted(command, from) ? command.name : '';
}

/** An inbox over a fail-fast connection. */
export function createInbox(redis: RedisClient, shards: number): Inbox {
  const run = bindScript<[0 | 1, EntryId, number]>(redis, join(import.meta.dirname, 'accept.lua'));
  const lossTellers = new Map<number, TellLoss>();
  return {
    async reportMove({ from, to }) {
      const text = `The group ${from} goes on under the id ${to}, because Telegram made it a supergroup. Its messages are taken until the next restart: put ${to} into TELEGRAM_ALLOWED_IDS.`;
      await redis.call(...alertCommand(keysOf(0), { cause: 'group-moved', key: String(from), text }));
    },
    async accept(botId, message, traceparent) {
      const shard = shardOf(message.chatId, shards);
      const keys = keysOf(shard);
      const tellLoss = lossTellers.get(shard) ?? createLossTeller(redis, keys);
      lossTellers.set(shard, tellLoss);
      const [added, entry, accepted] = await run(
        [keys.seen(botId, message.updateId), keys.inbound, keys.counts],
        [SEEN_SECONDS, laneOf(message), encodeMessage(message), traceparent, cancelledBy(message)],
      );
      // The message is stored whether or not this alert can be queued; the next acceptance tries again.
      await tellLoss({ accepted, hasGrown: added === 1 }).catch(() => undefined);
      return { entry, duplicate: added === 0 };
    },
  };
}
