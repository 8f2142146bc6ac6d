/** What waits for an answer of the bot: presses of buttons, and summonses, which are calls in chats that it is not part of. */
import { type Change, Chats } from './chats.ts';
import { badRequest } from './refusal.ts';

/** How the bot answered a press of a button. */
export interface QueryAnswer {
  readonly queryId: string;
  readonly at: number;
  /** What the person read, if anything. */
  readonly text?: string;
  /** Whether it was a dialog that must be closed. */
  readonly isAlert: boolean;
}

const TEXT_CHARS_MAX = 200;

/** Queries that wait, each with the chat that it is about; each can be answered once. */
class Queries {
  readonly #open = new Map<string, number>();
  #nextId: bigint;

  constructor(firstId: bigint) {
    this.#nextId = firstId;
  }

  /** Opens a query about a chat, and answers its id. */
  open(chatId: number): string {
    const id = String(this.#nextId++);
    this.#open.set(id, chatId);
    return id;
  }

  /** Makes every query too old that was not answered. */
  expire(): void {
    this.#open.clear();
  }

  /** Ends a query. Refuses one that is unknown, too old or answered. */
  protected take(id: string): number {
    const chatId = this.#open.get(id);
    if (chatId === undefined) throw badRequest('query is too old and response timeout expired or query ID is invalid');
    this.#open.delete(id);
    return chatId;
  }
}

/** The presses of buttons. */
export class Presses extends Queries {
  readonly answers: QueryAnswer[] = [];

  /** Answers a press. */
  answer(queryId: string, text: string | undefined, isAlert: boolean): void {
    if ([...(text ?? '')].length > TEXT_CHARS_MAX) throw badRequest('MESSAGE_TOO_LONG');
    this.take(queryId);
    this.answers.push({ queryId, at: Date.now(), isAlert, ...(text && { text }) });
  }
}

/** The summonses, with their chats. Such a chat is none of the bot's own, even with the same id. */
export class Summonses extends Queries {
  readonly chats = new Chats();
  readonly #put = new Map<string, { chatId: number; messageId: number }>();

  /** Answers a summons with a text, and returns the id of what stands there then. */
  answer(queryId: string, content: { text: string }): { inline_message_id: string } {
    const chatId = this.take(queryId);
    const { messageId } = this.chats.send({ chatId, ...content }).message;
    const inline_message_id = `AQ${Buffer.from(`${chatId}/${messageId}`).toString('base64url')}`;
    this.#put.set(inline_message_id, { chatId, messageId });
    return { inline_message_id };
  }

  /** Changes what the bot has put there. */
  edit(inlineId: string, change: Change): void {
    const { chatId = 0, messageId = 0 } = this.#put.get(inlineId) ?? {};
    const isThere = this.chats.shown(chatId).some((shown) => shown.messageId === messageId);
    if (!isThere) throw badRequest('MESSAGE_ID_INVALID');
    this.chats.edit(chatId, messageId, change);
  }

  /** Somebody deletes all that the bot has put into a chat. */
  clear(chatId: number): void {
    for (const { messageId } of this.chats.shown(chatId)) this.chats.delete(chatId, messageId);
  }
}
