import { badRequest } from './refusal.ts';

/** The kinds of chat that a bot can be in. */
export type ChatType = 'private' | 'group' | 'supergroup' | 'channel';

/** A bot message as a user sees it now. */
export interface ShownMessage {
  messageId: number;
  text: string;
  /** When it was sent. */
  at: number;
  /** What a phone's notification showed: the text as it was sent. Nothing for a message that arrived in silence. */
  notified?: string;
  /** How often its text was changed. */
  edits: number;
  /** When its text was changed last. */
  editedAt?: number;
  replyTo?: number;
  topicId?: number;
  entities?: unknown[];
  replyMarkup?: unknown;
  /** Set for a message that is a file: its text is the caption then. */
  document?: { name: string; bytes: number };
}

/** A chat that the bot can write to. */
export interface Chat {
  readonly id: number;
  readonly type: ChatType;
  readonly title: string;
  readonly topics: Set<number>;
  /** The users' messages, which a bot can reply to but not change. */
  readonly others: Map<number, { text: string; date: number }>;
  readonly shown: Map<number, ShownMessage>;
  lastMessageId: number;
}

/** What a bot sends. */
export interface Outgoing {
  readonly chatId: number;
  readonly text: string;
  readonly topicId?: number | undefined;
  readonly replyTo?: number | undefined;
  readonly replyMayMiss?: boolean | undefined;
  readonly isSilent?: boolean | undefined;
  readonly entities?: unknown[] | undefined;
  readonly replyMarkup?: unknown;
  readonly document?: { name: string; bytes: number } | undefined;
}

/** What an edit sets; what it leaves out is removed. */
export interface Change {
  readonly text: string;
  readonly entities?: unknown[] | undefined;
  readonly replyMarkup?: unknown;
}

const NOT_MODIFIED =
  'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message';

const asSeen = ({ text, entities, replyMarkup }: Change): string =>
  JSON.stringify([text, entities ?? [], replyMarkup ?? null]);

/** The chats, and what stands in them. */
export class Chats {
  readonly #chats = new Map<number, Chat>();
  #lastMessageId = 0;

  /** The chat of that id, which is made when nobody has written in it yet. A negative id is a group's. */
  open(id: number, type: ChatType = id < 0 ? 'supergroup' : 'private', title = `Chat ${id}`): Chat {
    const chat = this.#chats.get(id) ?? {
      id,
      type,
      title,
      topics: new Set<number>(),
      others: new Map(),
      shown: new Map<number, ShownMessage>(),
      lastMessageId: 0,
    };
    this.#chats.set(id, chat);
    return chat;
  }

  /** The chat of that id. Refuses when the bot has never met it. */
  find(id: number | undefined): Chat {
    const chat = id === undefined ? undefined : this.#chats.get(id);
    if (chat === undefined) throw badRequest('chat not found');
    return chat;
  }

  /** Takes the next message id. A supergroup counts its own; all other chats of a bot share one sequence. */
  nextMessageId(chat: Chat, wanted?: number): number {
    const last = chat.type === 'supergroup' || chat.type === 'channel' ? chat.lastMessageId : this.#lastMessageId;
    const id = wanted ?? last + 1;
    if (chat.type === 'supergroup' || chat.type === 'channel') chat.lastMessageId = Math.max(last, id);
    else this.#lastMessageId = Math.max(last, id);
    return id;
  }

  /** Shows a message of the bot. */
  send(outgoing: Outgoing): { chat: Chat; message: ShownMessage } {
    const chat = this.find(outgoing.chatId);
    const { topicId, replyTo } = outgoing;
    if (topicId !== undefined && !chat.topics.has(topicId)) throw badRequest('message thread not found');
    const isReplyKnown = replyTo === undefined || chat.others.has(replyTo) || chat.shown.has(replyTo);
    if (!isReplyKnown && !outgoing.replyMayMiss) throw badRequest('message to be replied not found');
    const message: ShownMessage = {
      messageId: this.nextMessageId(chat),
      text: outgoing.text,
      at: Date.now(),
      edits: 0,
      ...(!outgoing.isSilent && { notified: outgoing.text }),
      ...(replyTo !== undefined && isReplyKnown && { replyTo }),
      ...(topicId !== undefined && { topicId }),
      ...(outgoing.entities !== undefined && { entities: outgoing.entities }),
      ...(outgoing.replyMarkup !== undefined && { replyMarkup: outgoing.replyMarkup }),
      ...(outgoing.document !== undefined && { document: outgoing.document }),
    };
    chat.shown.set(message.messageId, message);
    return { chat, message };
  }

  /** Changes a message's text. The same text again is refused, as the API does it. */
  edit(chatId: number, messageId: number, change: Change): { chat: Chat; message: ShownMessage } {
    const chat = this.find(chatId);
    const message = chat.shown.get(messageId);
    if (message === undefined) {
      throw badRequest(chat.others.has(messageId) ? "message can't be edited" : 'message to edit not found');
    }
    if (message.document !== undefined) throw badRequest('there is no text in the message to edit');
    if (asSeen(message) === asSeen(change)) throw badRequest(NOT_MODIFIED);
    message.text = change.text;
    message.edits += 1;
    message.editedAt = Date.now();
    if (change.entities === undefined) delete message.entities;
    else message.entities = change.entities;
    if (change.replyMarkup === undefined) delete message.replyMarkup;
    else message.replyMarkup = change.replyMarkup;
    return { chat, message };
  }

  /** Removes a message, the bot's own or a user's. */
  delete(chatId: number, messageId: number): void {
    const chat = this.find(chatId);
    if (!chat.shown.delete(messageId) && !chat.others.delete(messageId)) {
      throw badRequest('message to delete not found');
    }
  }

  /** What stands in a chat now, in one topic of it when that is given. Empty for a chat that nobody opened. */
  shown(chatId: number, topicId?: number): ShownMessage[] {
    const messages = [...(this.#chats.get(chatId)?.shown.values() ?? [])];
    return topicId === undefined ? messages : messages.filter((message) => message.topicId === topicId);
  }

  /** Every chat that has something to show. */
  ids(): number[] {
    return [...this.#chats.keys()];
  }
}

/** A message as the API describes it. */
export function messageBody(chat: Chat, message: ShownMessage, bot: Record<string, unknown>): Record<string, unknown> {
  const { replyTo, topicId, document, entities, replyMarkup } = message;
  return {
    message_id: message.messageId,
    from: bot,
    chat: chatBody(chat),
    date: Math.floor(message.at / 1000),
    ...(message.editedAt !== undefined && { edit_date: Math.floor(message.editedAt / 1000) }),
    ...(topicId !== undefined && { message_thread_id: topicId, is_topic_message: true }),
    ...(replyTo !== undefined && { reply_to_message: quotedBody(chat, replyTo) }),
    ...(document === undefined
      ? { text: message.text }
      : {
          document: { file_id: `sent-${message.messageId}`, file_name: document.name, file_size: document.bytes },
          ...(message.text !== '' && { caption: message.text }),
        }),
    ...(entities !== undefined && { entities }),
    ...(replyMarkup !== undefined && { reply_markup: replyMarkup }),
  };
}

/** A message as another one quotes it; one that is gone has the date 0, as in the API. */
export function quotedBody(chat: Chat, messageId: number): Record<string, unknown> {
  const shown = chat.shown.get(messageId);
  const quoted = shown ? { text: shown.text, date: Math.floor(shown.at / 1000) } : chat.others.get(messageId);
  return { message_id: messageId, chat: chatBody(chat), date: 0, ...quoted };
}

/** A chat as the API describes it. */
export function chatBody({ id, type, title }: Chat): Record<string, unknown> {
  return type === 'private' ? { id, type, first_name: title } : { id, type, title };
}
