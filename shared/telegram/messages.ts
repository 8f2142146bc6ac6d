import { failed, type TelegramResult } from './failure.ts';
import { CALL_TIMEOUT_MS, type CallMethod, ofOptional, unlessMissing, withoutValue } from './method.ts';

/** Where a text goes. */
export interface Destination {
  chatId: number;
  topicId?: number;
}

/** How a message is sent. */
export interface SendOptions {
  /** The message arrives without a sound. */
  isSilent?: boolean;
  /** What formats the text, by offsets in UTF-16 units. */
  entities?: readonly object[];
  /** The message that this one answers; if it was deleted, this one is sent all the same. */
  replyTo?: number | undefined;
}

/** The part of the Bot API that shows something in a chat. Contract: as `Telegram`. */
export interface Messages {
  /** Sends a text of 1 to 4096 UTF-16 units. */
  sendMessage(to: Destination, text: string, options?: SendOptions): Promise<TelegramResult<{ messageId: number }>>;
  /** Sends a rich message. Fails as `not_offered` on servers before Bot API 10.2, and then without a call for a day. */
  sendRichMessage(
    to: Destination,
    blocks: readonly object[],
    options?: Omit<SendOptions, 'entities'>,
  ): Promise<TelegramResult<{ messageId: number }>>;
  /** Replaces the text of a message of ours. An identical text is no failure. */
  editMessage(
    to: Destination,
    messageId: number,
    text: string,
    entities?: readonly object[],
  ): Promise<TelegramResult<void>>;
  /**
   * Shows 1 to 4096 UTF-16 units as a draft in a private chat, in place of an earlier draft of that id (never 0); it
   * vanishes after 30 seconds. Fails as `not_offered` on servers before Bot API 9.5.
   */
  sendDraft(
    to: Destination,
    draftId: number,
    text: string,
    entities?: readonly object[],
  ): Promise<TelegramResult<void>>;
  /** Shows a typing indicator for 5 seconds. Fails like a message would, and leaves nothing in the chat. */
  sendTyping(to: Destination): Promise<TelegramResult<void>>;
}

/** How long a server that lacks a method is not asked for it again. */
const MISSING_MS = 24 * 3_600_000;
/** A reply waits for a draft that is in flight. */
const DRAFT_TIMEOUT_MS = 3_000;
/** A bare 404 may come from a proxy, and is no reason not to ask again. */
const METHOD_MISSING = /method not found/i;
const NO_TOPIC = /message thread not found|TOPIC_(?:DELETED|CLOSED|ID_INVALID)/i;
const SAME_TEXT = /message is not modified/i;
const MESSAGE_GONE = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i;

/** The messages of a bot, over its calls. */
export function messagesOver(call: CallMethod): Messages {
  let richMissingUntilMs = 0;
  const send = async (method: string, to: Destination, payload: object) => {
    const sent = await call(method, { ...address(to), ...payload }, CALL_TIMEOUT_MS);
    // Nothing was sent; the chat itself is still there.
    if (!isTopicGone(sent, to)) return sent;
    return call(method, { ...address({ chatId: to.chatId }), ...payload }, CALL_TIMEOUT_MS);
  };
  return {
    sendMessage: async (to, text, options = {}) =>
      sentMessage(await send('sendMessage', to, { text, ...sendParameters(options) })),
    async sendRichMessage(to, blocks, options = {}) {
      if (Date.now() < richMissingUntilMs) return failed('not_offered', 'the server has no rich messages');
      // Else Telegram makes links of amounts, paths and numbers.
      const rich = { blocks, skip_entity_detection: true };
      const sent = await send('sendRichMessage', to, { rich_message: rich, ...sendParameters(options) });
      const isMissing = !sent.ok && METHOD_MISSING.test(sent.failure.description);
      if (isMissing) richMissingUntilMs = Date.now() + MISSING_MS;
      return sentMessage(unlessMissing(sent));
    },
    async editMessage(to, messageId, text, entities = []) {
      const payload = { chat_id: to.chatId, message_id: messageId, text, ...sendParameters({ entities }) };
      const edited = await call('editMessageText', payload, CALL_TIMEOUT_MS);
      if (edited.ok || SAME_TEXT.test(edited.failure.description)) return { ok: true, value: undefined };
      const isGone = MESSAGE_GONE.test(edited.failure.description);
      return isGone ? failed('message_gone', edited.failure.description) : edited;
    },
    async sendDraft(to, draftId, text, entities = []) {
      // A draft locks the composer of some apps, so its button is the only way to stop. The words come as a message.
      const stopping = { can_stop: true, keep_on_stop: true };
      const payload = { ...address(to), draft_id: draftId, text, ...sendParameters({ entities }), ...stopping };
      return ofOptional(await call('sendMessageDraft', payload, DRAFT_TIMEOUT_MS));
    },
    async sendTyping(to) {
      return withoutValue(await call('sendChatAction', { ...address(to), action: 'typing' }, CALL_TIMEOUT_MS));
    },
  };
}

function isTopicGone(sent: TelegramResult<unknown>, { topicId }: Destination): boolean {
  return !sent.ok && topicId !== undefined && NO_TOPIC.test(sent.failure.description);
}

function sentMessage(sent: TelegramResult<unknown>): TelegramResult<{ messageId: number }> {
  return sent.ok ? { ok: true, value: { messageId: (sent.value as { message_id: number }).message_id } } : sent;
}

function sendParameters({ isSilent, replyTo, entities = [] }: SendOptions) {
  return {
    ...(entities.length > 0 && { entities }),
    ...(isSilent && { disable_notification: true }),
    ...(replyTo !== undefined && {
      reply_parameters: { message_id: replyTo, allow_sending_without_reply: true },
    }),
  };
}

function address(to: Destination) {
  return { chat_id: to.chatId, ...(to.topicId !== undefined && { message_thread_id: to.topicId }) };
}
