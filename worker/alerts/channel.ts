import type { Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../shared/telegram/failure.ts';
import type { SendOptions } from '../../shared/telegram/messages.ts';
import type { AlertMessage } from './message.ts';
import type { Webhook } from './webhook.ts';

/** The result of sending or editing a message to operators. */
export type SendResult =
  | {
      ok: true;
      /** Absent on channels whose messages cannot be edited. */
      messageId?: number;
    }
  | {
      ok: false;
      /** The reason in words, without secrets, for the log and for operators. */
      why: string;
      retryAfterMs?: number;
      /** No send was tried, because Telegram does not answer or the wait after a failed send has not passed. */
      isAway?: true;
      /** The new id of the chat, if the group has become a supergroup. */
      movedTo?: number;
      /** A retry would fail in the same way: the message to edit is gone, or Telegram rejects the message. */
      isLost?: true;
    };

/**
 * The channel to the operators' chat.
 *
 * Contract: the methods never throw, and each call to Telegram ends within 30 seconds. A send with an unknown result counts
 * as failed, so a message may arrive twice.
 */
export interface AlertChannel {
  send(text: string, options?: { replyTo?: number; look?: Look; isSilent?: boolean }): Promise<SendResult>;
  /** Replaces the text and the look of a message. Repeating an edit changes nothing. */
  edit(messageId: number, text: string, look: Look): Promise<SendResult>;
}

/** Format, links and buttons of a message. */
export type Look = Omit<AlertMessage, 'text'>;

/** The channels to the operators. */
export interface Channels {
  /** The alert chat from the settings; `undefined` if they name none. */
  chatId: number | undefined;
  telegram(chatId: number): AlertChannel;
  webhook: Webhook | undefined;
  /** The first wait after a failed send. Each further failure doubles the wait, up to five minutes. */
  retryMs: number;
}

/** Creates the channel to a chat on Telegram. */
export function telegramChannel(telegram: Telegram, chatId: number): AlertChannel {
  return {
    async send(text, { replyTo, look, isSilent = false } = {}) {
      const result = await sendOrSendPlain(text, look, (words, options) =>
        telegram.sendMessage({ chatId }, words, { ...options, replyTo, isSilent }),
      );
      return result.ok ? { ok: true, messageId: result.value.messageId } : failureOf(result.failure);
    },
    async edit(messageId, text, look) {
      const result = await sendOrSendPlain(text, look, (words, options) =>
        telegram.editMessage({ chatId }, messageId, words, options),
      );
      return result.ok ? { ok: true, messageId } : failureOf(result.failure);
    },
  };
}

/** Sends or edits a message. If Telegram rejects it, e.g. for a link to `localhost`, tries again with plain text. */
async function sendOrSendPlain<T>(
  text: string,
  look: Look | undefined,
  send: (text: string, options: Pick<SendOptions, 'entities' | 'buttons'>) => Promise<TelegramResult<T>>,
): Promise<TelegramResult<T>> {
  if (look === undefined) return send(text, {});
  const { entities, links, buttons = [] } = look;
  const result = await send(text, {
    entities: [...entities],
    buttons: [...buttons, ...(links.length > 0 ? [links] : [])],
  });
  return !result.ok && result.failure.kind === 'rejected' ? send(withLinks(text, look), { buttons }) : result;
}

/** The text, followed by a line for each link, for channels without buttons. */
export function withLinks(text: string, { links }: Pick<Look, 'links'>): string {
  return [text, ...links.map((link) => `${link.text}: ${link.url}`)].join('\n');
}

function failureOf({ kind, description, retryAfterMs, migratedTo }: TelegramFailure): SendResult {
  return {
    ok: false,
    why: `${kind}: ${description}`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(kind === 'away' && { isAway: true }),
    ...(migratedTo !== undefined && { movedTo: migratedTo }),
    ...((kind === 'message_gone' || kind === 'rejected') && { isLost: true }),
  };
}

/** The channel to a chat. If the chat becomes a supergroup, follows it to its new id. */
export function channelFollowingMoves(
  telegram: (chatId: number) => AlertChannel,
  chatId: number,
): Pick<AlertChannel, 'send'> {
  let to = chatId;
  return {
    async send(text, options) {
      const result = await telegram(to).send(text, options);
      if (result.ok || result.movedTo === undefined) return result;
      to = result.movedTo;
      return telegram(to).send(text, options);
    },
  };
}
