import type { Settings } from '../../shared/base/settings.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { bindKnock } from '../../shared/state/pairing/strangers.ts';
import type { Gate } from './gate.ts';
import { type RawUpdate, readUpdate } from './read-update.ts';

/**
 * Turns a stranger's message in a private chat into a request for access: the command `pair` with a new code, in that person's
 * name and without the person's words. Returns `undefined` for all other updates, for messages in the operators' chat, and for a
 * stranger who gets no reply. Contract: idempotent per update id; rejects when Redis cannot store the request.
 */
export type Knock = (update: unknown, gate: Gate) => Promise<InboundMessage | undefined>;

/** Creates the function that lets strangers ask for access, if the settings allow that. */
export function createKnock(redis: RedisClient, { PAIRING }: Settings): Knock {
  if (PAIRING === 'off') return async () => undefined;
  const knock = bindKnock(redis);
  return async (update, gate) => {
    const reading = readUpdate(update, { ...gate, allowed: 'everyone' }, 1);
    if (!reading.accept || reading.message.chatType !== 'private') return undefined;
    const { v, updateId, chatId, topicId, chatType, messageId, from, sentAtMs } = reading.message;
    if (chatId === gate.desk?.chatId) return undefined;
    const { username } = (update as RawUpdate).message?.from ?? {};
    // Bot API, `User`: a username has letters, digits and underscores.
    const [plainUsername = ''] = /^\w{1,32}$/.exec(String(username ?? '')) ?? [];
    const code = await knock(from.id, updateId, { name: from.name ?? '', username: plainUsername });
    if (code === '') return undefined;
    const place = { chatId, ...(topicId !== undefined && { topicId }), chatType };
    const content = { kind: 'text', text: `/pair ${code}` } as const;
    return { v, updateId, ...place, messageId, from: { ...from, isStranger: true }, sentAtMs, content };
  };
}
