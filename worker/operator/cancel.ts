import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import { type ChatKey, type EntryId, type Keys, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { BY_OPERATOR } from '../lane/attempt.ts';
import type { MessageName } from '../report/message-name.ts';
import type { Installation } from './pause.ts';
import { type Order, writeDown } from './trail.ts';
import { tryNow } from './try-now.ts';

/** Longer than anybody sends a request again. */
const ASKED_SECONDS = 3600;

/** What became of a message that was to be cancelled. */
export type Cancelled = 'cancelled' | 'repeated' | 'gone' | 'answered' | 'command' | 'merged';

/**
 * Cancels one message: its turn ends it at once when it runs, or else when its turn comes, and its user is told. What is
 * being delivered is not taken back. Contract: rejects when Redis cannot be reached. Idempotent.
 */
export async function cancelMessage(at: Installation, { keys, entry }: MessageName, order: Order): Promise<Cancelled> {
  const run = bindScript<Cancelled>(at.redis, join(import.meta.dirname, 'cancel-message.lua'));
  await writeDown(at.redis, 'cancel', entry, order);
  const result = await run([keys.inbound, keys.turn(entry)], [entry, BY_OPERATOR]);
  // Killed before this, the message ends when its delay does.
  if (result === 'cancelled' || result === 'repeated') await tryNow(at.redis, keys, entry);
  return result;
}

/**
 * Cancels all that a chat waits for, as its user's `/stop` does: through a message of its own, which is accepted, told of
 * and settled like any other. `idle`: nothing waits. Contract: as at `cancelMessage`.
 */
export async function cancelChat(
  at: Installation,
  chat: ChatKey,
  order: Order,
): Promise<'cancelled' | 'repeated' | 'idle'> {
  const keys = keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, at.shards));
  const run = bindScript<['cancelled' | 'repeated' | 'idle', string]>(
    at.redis,
    join(import.meta.dirname, 'cancel-chat.lua'),
  );
  const message = encodeMessage(await stopFor(at, keys, chat));
  await writeDown(at.redis, 'cancel', chat, order);
  const keysAt = [keys.inbound, keys.counts, keys.lane(chat), keys.absent, keys.admitted(randomUUID())];
  const [result] = await run(keysAt, [chat, message, newTrace(), ASKED_SECONDS]);
  return result;
}

/** A `/stop` as the writer of the chat's first message would send it: the reply is in that person's language. */
async function stopFor({ redis }: Installation, keys: Keys, chat: ChatKey): Promise<InboundMessage> {
  const head = (await redis.lindex(keys.lane(chat), 0)) as EntryId | null;
  const [found] = head === null ? [] : await redis.xrange(keys.inbound, head, head);
  const first = decodeMessage(fieldsOf(found?.[1] ?? []).get('message'));
  const content = { kind: 'text', text: '/stop' } as const;
  const { chatId = 0, topicId } = parseChatKey(chat) ?? {};
  const now = { v: 1, updateId: 0, sentAtMs: Date.now(), content } as const;
  if (!first.ok) {
    const chatType = chatId > 0 ? 'private' : 'supergroup';
    return { ...now, chatId, ...(topicId !== undefined && { topicId }), chatType, messageId: 0, from: { id: chatId } };
  }
  const { chatType, chatTitle, messageId, from } = first.value;
  const { isGuest: _, ...sender } = from;
  const place = { chatId, ...(topicId !== undefined && { topicId }), chatType, ...(chatTitle && { chatTitle }) };
  return { ...now, ...place, messageId, from: sender };
}

/** A trace of its own, as every message has one. */
function newTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
}
