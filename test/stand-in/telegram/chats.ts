import type { Entity } from './entities.ts';
import type { Keyboard } from './markup.ts';
import { badRequest, forbidden, RefusedError } from './refusal.ts';
import type { RichBlock } from './rich-message.ts';

/** The kinds of chat that a bot can be in. */
export type ChatType = 'private' | 'group' | 'supergroup';

/** A file as a message shows it; its text is the caption then. */
export interface ShownFile {
  document?: { name: string; bytes: number };
  /** As people see it: without its name. */
  photo?: { width: number; height: number; bytes: number };
  audio?: { name: string; bytes: number };
}

/** A bot message as a user sees it now. */
export interface ShownMessage extends ShownFile {
  messageId: number;
  /** What a person reads. Of a rich message it is the words, which the API does not send as a text. */
  text: string;
  /** The blocks of a rich message, as the server has kept them. */
  rich?: RichBlock[];
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
  /** The album that it stands in. */
  album?: string;
  entities?: Entity[];
  replyMarkup?: Keyboard;
}

/** What the bot is in a chat. A private chat whose user has blocked it has `kicked` it. */
export type Membership = 'member' | 'administrator' | 'left' | 'kicked';

/** Something that happened in a chat, as its people saw it. Messages are as they were then. */
export type ChatEvent = { readonly at: number } & (
  | {
      readonly kind: 'said';
      /** As an update shows it. */
      readonly message: Body;
      /** False for what the bot does not get, because of privacy mode. */
      readonly isHeard: boolean;
    }
  | { readonly kind: 'sent' | 'edited'; readonly message: ShownMessage }
  | { readonly kind: 'deleted'; readonly messageId: number }
  | { readonly kind: 'pressed'; readonly label: string }
);

/** A chat that the bot can write to. */
export type Chat = ReturnType<typeof newChat>;

function newChat(id: number, type: ChatType, title: string) {
  return {
    id,
    type,
    title,
    topics: new Set<number>(),
    /** Whether it is a supergroup with topics, or once had some. */
    isForum: false,
    /** The users' messages as updates show them, which a bot can reply to but not change. */
    others: new Map<number, Body>(),
    shown: new Map<number, ShownMessage>(),
    /** What happened in it, oldest first. */
    history: [] as ChatEvent[],
    lastMessageId: 0,
    membership: 'member' as Membership,
    /** The supergroup that a group has become. */
    migratedTo: undefined as number | undefined,
  };
}

/** What a bot sends, and where. */
export interface Outgoing extends ShownFile, Pick<ShownMessage, 'text' | 'rich' | 'entities' | 'album'> {
  readonly chatId: number;
  readonly topicId?: number | undefined;
  readonly replyTo?: number | undefined;
  readonly replyMayMiss?: boolean;
  readonly isSilent?: boolean;
  readonly replyMarkup?: Keyboard | undefined;
}

/** What an edit sets; what it leaves out is removed. */
export type Change = Partial<Pick<ShownMessage, 'text' | 'entities'>> & Pick<Outgoing, 'replyMarkup'>;

/** A message, with the chat that it stands in. */
export interface Sent {
  readonly chat: Chat;
  readonly message: ShownMessage;
}

/** A chat or a message as the API describes it. */
export type Body = Record<string, unknown>;

/** A supergroup's id is its number behind -100. */
const SUPERGROUPS_FROM = -1_000_000_000_000;

const NOT_MODIFIED =
  'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message';

/** The chats, and what stands in them. */
export class Chats {
  readonly #chats = new Map<number, Chat>();
  lastMessageId = 0;

  /** The chat of that id, which is made when nobody has written in it yet. A negative id is a group's. */
  open(id: number, type: ChatType = id < 0 ? 'supergroup' : 'private', title = `Chat ${id}`): Chat {
    const chat = this.#chats.get(id) ?? newChat(id, type, title);
    this.#chats.set(id, chat);
    return chat;
  }

  /** The chat of that id. Refuses when the bot has never met it, or may not write there. */
  find(id: number): Chat {
    const chat = this.#chats.get(id);
    if (chat === undefined) throw badRequest('chat not found');
    if (chat.migratedTo !== undefined) {
      const parameters = { migrate_to_chat_id: chat.migratedTo };
      throw new RefusedError(400, 'Bad Request: group chat was upgraded to a supergroup chat', parameters);
    }
    const why = whyClosed(chat);
    if (why !== undefined) throw forbidden(why);
    return chat;
  }

  /** Turns a group into a supergroup, which has another id and counts its messages anew. */
  migrate(id: number): { from: Chat; to: Chat } {
    const from = this.find(id);
    if (from.type !== 'group') throw new Error(`Chat ${id} is no group, so it cannot become a supergroup.`);
    const to = this.open(SUPERGROUPS_FROM + id, 'supergroup', from.title);
    from.migratedTo = to.id;
    to.membership = from.membership;
    return { from, to };
  }

  /** Takes the next message id. A supergroup counts its own; all other chats of a bot share one sequence. */
  nextMessageId(chat: Chat, wanted?: number): number {
    const counter = chat.type === 'supergroup' ? chat : this;
    const id = wanted ?? counter.lastMessageId + 1;
    counter.lastMessageId = Math.max(counter.lastMessageId, id);
    return id;
  }

  /** Shows a message of the bot. */
  send({ chatId, isSilent, replyMayMiss, replyTo, topicId: wantedTopic, ...content }: Outgoing): Sent {
    const chat = this.find(chatId);
    const topicId = topicIn(chat, wantedTopic);
    const isReplyKnown = replyTo !== undefined && (chat.others.has(replyTo) || chat.shown.has(replyTo));
    if (replyTo !== undefined && !isReplyKnown && !replyMayMiss) throw badRequest('message to be replied not found');
    const message: ShownMessage = {
      ...defined(content),
      messageId: this.nextMessageId(chat),
      at: Date.now(),
      edits: 0,
      ...(!isSilent && { notified: content.text }),
      ...(isReplyKnown && { replyTo }),
      ...(topicId !== undefined && { topicId }),
    };
    chat.shown.set(message.messageId, message);
    chat.history.push({ kind: 'sent', at: message.at, message: { ...message } });
    return { chat, message };
  }

  /** Changes the keyboard of a message, and its text where one is given. The same content again is refused. */
  edit(chatId: number, messageId: number, { text, entities, replyMarkup }: Change): Sent {
    const chat = this.find(chatId);
    const message = chat.shown.get(messageId);
    if (message === undefined) {
      throw badRequest(chat.others.has(messageId) ? "message can't be edited" : 'message to edit not found');
    }
    const isFile = message.document || message.photo || message.audio;
    if (text !== undefined && isFile) throw badRequest('there is no text in the message to edit');
    const { entities: marks, rich, replyMarkup: _markup, ...rest } = message;
    const change = { text, entities, edits: rest.edits + 1, editedAt: Date.now() };
    const after = defined({ ...rest, ...(text === undefined ? { entities: marks, rich } : change), replyMarkup });
    if (contentOf(after) === contentOf(message)) throw badRequest(NOT_MODIFIED);
    for (const part of ['entities', 'rich', 'replyMarkup'] as const) delete message[part];
    Object.assign(message, after);
    chat.history.push({ kind: 'edited', at: Date.now(), message: { ...message } });
    return { chat, message };
  }

  /** Removes a message, the bot's own or a user's. */
  delete(chatId: number, messageId: number): void {
    const chat = this.find(chatId);
    if (!chat.shown.delete(messageId) && !chat.others.delete(messageId)) {
      throw badRequest('message to delete not found');
    }
    chat.history.push({ kind: 'deleted', at: Date.now(), messageId });
  }

  /** What stands in a chat now, in one topic of it when that is given. Empty for a chat that nobody opened. */
  shown(chatId: number, topicId?: number): ShownMessage[] {
    const messages = [...(this.#chats.get(chatId)?.shown.values() ?? [])];
    return topicId === undefined ? messages : messages.filter((message) => message.topicId === topicId);
  }

  /** What happened in a chat, oldest first. Empty for a chat that nobody opened. */
  history(chatId: number): readonly ChatEvent[] {
    return this.#chats.get(chatId)?.history ?? [];
  }
}

/** The topic that a message goes to. A chat that has none ignores the number. */
export function topicIn(chat: Chat, topicId: number | undefined): number | undefined {
  if (topicId === undefined || topicId <= 0 || (chat.type !== 'private' && !chat.isForum)) return undefined;
  if (!chat.topics.has(topicId)) throw badRequest('message thread not found');
  return topicId;
}

/** An object without the fields that are undefined. */
function defined<Fields extends object>(fields: Fields) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };
}

const contentOf = ({ text, entities, rich, replyMarkup }: Partial<ShownMessage>): string =>
  JSON.stringify([text, entities, rich, replyMarkup]);

/** Why the bot may not write in a chat any more. */
function whyClosed({ type, membership }: Chat): string | undefined {
  if (membership === 'member' || membership === 'administrator') return undefined;
  if (type === 'private') return 'bot was blocked by the user';
  return membership === 'left' ? `bot is not a member of the ${type} chat` : `bot was kicked from the ${type} chat`;
}
