/** Guest mode: calls of the bot in chats that it is not part of. Such a chat is none of its own, even with the same id. */
import { type Change, Chats } from './chats.ts';
import { formattedText } from './formatted.ts';
import { type SayOptions, userMessage } from './inbound.ts';
import { asJson, asText, type Params } from './params.ts';
import type { Reader } from './privacy.ts';
import { badRequest } from './refusal.ts';
import type { ApiVersion } from './versions.ts';

/** Ids are opaque, and of no known form. */
const FIRST_QUERY = 91_700_000_001n;
const TEXT_UNITS_MAX = 4096;
const ID_BYTES_MAX = 64;

/** What the bot was asked as a guest, and what it has put there. */
export class Summonses {
  /** The chats of others. */
  readonly chats = new Chats();
  readonly #open = new Map<string, number>();
  readonly #put = new Map<string, { chatId: number; messageId: number }>();
  #next = FIRST_QUERY;

  /** Somebody calls the bot: the update for it. */
  summon(fromId: number, chatId: number, text: string, options: SayOptions, reader: Reader): object {
    const said = userMessage(this.chats, chatId, text, { ...options, fromId }, { ...reader, hasPrivacy: false });
    const guest_query_id = String(this.#next);
    this.#next += 1n;
    this.#open.set(guest_query_id, chatId);
    return { guest_message: { ...(said?.message as object), guest_query_id } };
  }

  /** Makes every call too old that was not answered. */
  expire(): void {
    this.#open.clear();
  }

  /** Answers a call, once, with one article of text, and answers the id of what stands there then. */
  answer({ guest_query_id: query, result }: Params, version: ApiVersion): { inline_message_id: string } {
    const chatId = this.#open.get(asText(query) ?? '');
    const text = articleOf(result, version);
    if (chatId === undefined) throw badRequest('query is too old and response timeout expired or query ID is invalid');
    this.#open.delete(asText(query) ?? '');
    const { message } = this.chats.send({ chatId, ...text });
    const inline_message_id = `AQ${Buffer.from(`${chatId}/${message.messageId}`).toString('base64url')}`;
    this.#put.set(inline_message_id, { chatId, messageId: message.messageId });
    return { inline_message_id };
  }

  /** Changes what the bot has put there. */
  edit(inlineId: string, change: Change): true {
    const { chatId = 0, messageId = 0 } = this.#put.get(inlineId) ?? {};
    if (!this.chats.shown(chatId).some((shown) => shown.messageId === messageId))
      throw badRequest('MESSAGE_ID_INVALID');
    this.chats.edit(chatId, messageId, change);
    return true;
  }

  /** Somebody deletes all that the bot has put into a chat. */
  clear(chatId: number): void {
    for (const { messageId } of this.chats.shown(chatId)) this.chats.delete(chatId, messageId);
  }
}

function articleOf(sent: unknown, version: ApiVersion) {
  const { type, id, title, input_message_content: content } = (asJson(sent) ?? {}) as Params;
  if (type !== 'article') throw badRequest(`the stand-in does not read results of the type ${type}`);
  const bytes = Buffer.byteLength(asText(id) ?? '');
  if (bytes === 0 || bytes > ID_BYTES_MAX) throw badRequest('RESULT_ID_INVALID');
  if ((asText(title) ?? '') === '') throw badRequest('can\'t parse inline query result: Can\'t find field "title"');
  const formatted = formattedText((asJson(content) ?? {}) as Params, 'message_text', 'entities', version);
  if (formatted.text === '') throw badRequest('message text is empty');
  if (formatted.text.length > TEXT_UNITS_MAX) throw badRequest('message is too long');
  return formatted;
}
