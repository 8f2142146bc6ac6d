import type { Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../shared/telegram/failure.ts';
import type { SendOptions } from '../../shared/telegram/messages.ts';
import type { AlertMessage } from './message.ts';
import type { Webhook } from './webhook.ts';

/** The result of a message to an operator. */
export type Sent =
  | {
      ok: true;
      /** Absent where a message cannot be changed. */
      messageId?: number;
    }
  | {
      ok: false;
      /** For the log: never a URL or a token. */
      why: string;
      retryAfterMs?: number;
      /** Nothing was tried: Telegram is away, or the webhook is spared for a while. */
      isAway?: true;
      /** The chat's new id. */
      movedTo?: number;
      /** The message cannot be edited any more, or its text is refused for good. */
      isLost?: true;
    };

/**
 * The way to an operator's chat.
 *
 * Contract: never throws; a message whose fate is unknown counts as not sent, so it may come twice. Ends within 30
 * seconds.
 */
export interface AlertChannel {
  send(text: string, options?: { replyTo?: number; look?: Look; isSilent?: boolean }): Promise<Sent>;
  /** Replaces the text of a message. A repeat changes nothing. */
  edit(messageId: number, text: string, look: Look): Promise<Sent>;
}

/** How a message looks, and where its buttons lead. */
export type Look = Omit<AlertMessage, 'text'>;

/** The channels to the operators. */
export interface Channels {
  /** The chat from the configuration; `undefined` when there is none. */
  chatId: number | undefined;
  telegram(chatId: number): AlertChannel;
  webhook: Webhook | undefined;
  /** The first wait after a channel took nothing; each further wait doubles, up to five minutes. */
  retryMs: number;
}

/** The operator's chat on Telegram. */
export function telegramChannel(telegram: Telegram, chatId: number): AlertChannel {
  return {
    async send(text, { replyTo, look, isSilent = false } = {}) {
      const sent = await plainIfRefused(text, look, (words, options) =>
        telegram.sendMessage({ chatId }, words, { ...options, replyTo, isSilent }),
      );
      return sent.ok ? { ok: true, messageId: sent.value.messageId } : notSent(sent.failure);
    },
    async edit(messageId, text, look) {
      const edited = await plainIfRefused(text, look, (words, options) =>
        telegram.editMessage({ chatId }, messageId, words, options),
      );
      return edited.ok ? { ok: true, messageId } : notSent(edited.failure);
    },
  };
}

/** A message whose format or links Telegram refuses (it takes none to `localhost`) is sent in plain words. */
async function plainIfRefused<T>(
  text: string,
  look: Look | undefined,
  send: (text: string, options: Pick<SendOptions, 'entities' | 'buttons'>) => Promise<TelegramResult<T>>,
): Promise<TelegramResult<T>> {
  if (look === undefined) return send(text, {});
  const { entities, links, buttons = [] } = look;
  const sent = await send(text, {
    entities: [...entities],
    buttons: [...buttons, ...(links.length > 0 ? [links] : [])],
  });
  return !sent.ok && sent.failure.kind === 'rejected' ? send(withLinks(text, look), { buttons }) : sent;
}

/** The text with its links, where there are no buttons. */
export function withLinks(text: string, { links }: Pick<Look, 'links'>): string {
  return [text, ...links.map((link) => `${link.text}: ${link.url}`)].join('\n');
}

function notSent({ kind, description, retryAfterMs, migratedTo }: TelegramFailure): Sent {
  return {
    ok: false,
    why: `${kind}: ${description}`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(kind === 'away' && { isAway: true }),
    ...(migratedTo !== undefined && { movedTo: migratedTo }),
    ...((kind === 'message_gone' || kind === 'rejected') && { isLost: true }),
  };
}

/** The operator's chat, also under the new id that it has as a supergroup. */
export function followedChat(telegram: (chatId: number) => AlertChannel, chatId: number): Pick<AlertChannel, 'send'> {
  let to = chatId;
  return {
    async send(text, options) {
      const sent = await telegram(to).send(text, options);
      if (sent.ok || sent.movedTo === undefined) return sent;
      to = sent.movedTo;
      return telegram(to).send(text, options);
    },
  };
}
