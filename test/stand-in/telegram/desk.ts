/** What the methods of the Bot API work on. */
import { messageBody } from './bodies.ts';
import { type Chat, type Chats, type Outgoing, type ShownMessage, topicIn } from './chats.ts';
import type { Drafts } from './drafts.ts';
import type { Files } from './files.ts';
import type { Floods } from './floods.ts';
import { readMarkup } from './markup.ts';
import type { Menus } from './menus.ts';
import { asFlag, asInteger, asJson, asText, type Params } from './params.ts';
import type { Queries } from './queries.ts';
import { badRequest } from './refusal.ts';
import type { Summonses } from './summonses.ts';
import type { UpdateQueue } from './updates.ts';
import type { ApiVersion } from './versions.ts';
import type { Webhook } from './webhook.ts';

/** The state of a bot and its chats. */
export interface Desk {
  readonly bot: Record<string, unknown>;
  readonly version: ApiVersion;
  /** Whether only what is meant for the bot reaches it in groups. */
  readonly hasPrivacy: boolean;
  /** Whether people may call it in chats that it is not part of. */
  readonly isGuest: boolean;
  readonly chats: Chats;
  readonly drafts: Drafts;
  readonly queries: Queries;
  readonly summonses: Summonses;
  readonly menus: Menus;
  readonly files: Files;
  readonly updates: UpdateQueue;
  readonly webhook: Webhook;
  /** Set where too many calls are refused. */
  readonly floods: Floods | undefined;
}

/** A method: answers its result, or throws the error that the API would answer. `gone` aborts when the caller hangs up. */
export type Method = (desk: Desk, params: Params, gone: AbortSignal) => unknown;

const QUOTE_UNITS_MAX = 1024;

/** Where and how something is sent. */
export function placeOf(desk: Desk, params: Params): Omit<Outgoing, 'text'> {
  const replyMarkup = readMarkup(params.reply_markup, desk.version);
  const chat = desk.chats.find(asInteger(params.chat_id));
  const reply = (asJson(params.reply_parameters) ?? {}) as Params;
  const replyTo = asInteger(reply.message_id);
  checkQuote(chat, replyTo, asText(reply.quote));
  return {
    chatId: chat.id,
    topicId: topicIn(chat, asInteger(params.message_thread_id)),
    replyTo,
    replyMayMiss: asFlag(reply.allow_sending_without_reply),
    isSilent: asFlag(params.disable_notification),
    replyMarkup,
  };
}

/** A quote is an exact piece of what is answered. */
function checkQuote(chat: Chat, replyTo: number | undefined, quote: string | undefined): void {
  if (replyTo === undefined || quote === undefined || quote === '') return;
  const { text, caption } = (chat.others.get(replyTo) ?? {}) as { text?: string; caption?: string };
  const quoted = chat.shown.get(replyTo)?.text ?? text ?? caption ?? '';
  if (quote.length > QUOTE_UNITS_MAX || !quoted.includes(quote)) throw badRequest('QUOTE_TEXT_INVALID');
}

/** Sends, and answers the message. What the bot says dismisses its draft there. */
export function send(desk: Desk, outgoing: Outgoing): Record<string, unknown> {
  const sent = desk.chats.send(outgoing);
  desk.drafts.dismiss(sent.chat.id, sent.message.topicId);
  return described(desk, sent);
}

/** A message as an answer. */
export function described(desk: Desk, { chat, message }: { chat: Chat; message: ShownMessage }) {
  return messageBody(chat, message, desk.bot);
}
