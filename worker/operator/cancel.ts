import { randomBytes } from 'node:crypto';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { acceptStop, type Cancelled, type ChatCancelled, markCancelled } from '../../shared/state/lane/stops.ts';
import { readHead } from '../../shared/state/lane/waiting.ts';
import { storedMessage } from '../../shared/state/message/inbound.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { BY_OPERATOR } from '../lane/attempt.ts';
import type { MessageName } from '../report/message-location.ts';
import type { ReportSource } from '../report/report.ts';
import { tryNow } from './retry.ts';

/**
 * Cancels one message: its turn ends it at once when it runs, or else when its turn comes, and its user is told. What is
 * being delivered is not taken back. Contract: rejects when Redis cannot be reached. Idempotent.
 */
export async function cancelMessage(
  at: ReportSource,
  { keys, entry }: MessageName,
  attribution: Attribution,
): Promise<Cancelled> {
  await recordAction(at.redis, 'cancel', entry, attribution);
  const result = await markCancelled(at.redis, keys, entry, BY_OPERATOR);
  // Killed before this, the message ends when its delay does.
  if (result === 'cancelled' || result === 'repeated') await tryNow(at.redis, keys, entry);
  return result;
}

/**
 * Cancels all that a chat waits for, as its user's `/stop` does: through a message of its own, which is accepted, told of
 * and settled like any other. `idle`: nothing waits. Contract: as at `cancelMessage`.
 */
export async function cancelChat(at: ReportSource, chat: ChatKey, attribution: Attribution): Promise<ChatCancelled> {
  const keys = keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, at.shards));
  const message = encodeMessage(await stopFor(at, keys, chat));
  await recordAction(at.redis, 'cancel', chat, attribution);
  return acceptStop(at.redis, keys, chat, { message, traceparent: newTrace() });
}

/** A `/stop` as the writer of the chat's first message would send it: the reply is in that person's language. */
async function stopFor({ redis }: ReportSource, keys: Keys, chat: ChatKey): Promise<InboundMessage> {
  const head = await readHead(redis, keys, chat);
  const first = decodeMessage(head === undefined ? undefined : await storedMessage(redis, keys, head));
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
