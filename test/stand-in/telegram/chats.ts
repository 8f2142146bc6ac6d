import type { Entity } from './entities.ts';
import type { ChatEvent } from './history.ts';
import { badRequest, forbidden, RefusedError } from './refusal.ts';
import type { RichBlock } from './rich-blocks.ts';
import type { RichMessage } from './rich-message.ts';

/** The kinds of chat that a bot can be in. */
export type ChatType = 'private' | 'group' | 'supergroup' | 'channel';

/** A file as a message shows it; its text is the caption then. */
export interface ShownFile {
  document?: { name: string; bytes: number };
  /** As people see it: scaled down, and without its name. */
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
  isRtl?: true;
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
  /** As the server has put them right. */
  entities?: Entity[];
  replyMarkup?: unknown;
}

/** What the bot is in a chat. A private chat whose user has blocked it has `kicked` it. */
export type Membership = 'member' | 'administrator' | 'left' | 'kicked';

/** A chat that the bot can write to. */
export interface Chat {
  readonly id: number;
  readonly type: ChatType;
  readonly title: string;
  readonly topics: Set<number>;
  /** Whether it is a supergroup with topics, or once had some. */
  isForum: boolean;
  /** The users' messages as updates show them, which a bot can reply to but not change. */
  readonly others: Map<number, Record<string, unknown>>;
  /** Those of them that were meant for the bot, so that an answer to them is too. */
  readonly meant: Set<number>;
  readonly shown: Map<number, ShownMessage>;
  /** What happened in it, oldest first. */
  readonly history: ChatEvent[];
  lastMessageId: number;
  membership: Membership;
  /** The supergroup that a group has become. */
  migratedTo?: number;
}

/** What a bot sends. */
export interface Outgoing {
  readonly chatId: number;
  readonly text: string;
  readonly rich?: RichMessage | undefined;
  readonly topicId?: number | undefined;
  readonly replyTo?: number | undefined;
  readonly replyMayMiss?: boolean | undefined;
  readonly isSilent?: boolean | undefined;
  readonly entities?: Entity[] | undefined;
  readonly replyMarkup?: unknown;
  readonly file?: ShownFile;
  readonly album?: string;
}

/** What an edit sets; what it leaves out is removed. */
export interface Change {
  readonly text: string;
  readonly rich?: RichMessage | undefined;
  readonly entities?: Entity[] | undefined;
  readonly replyMarkup?: unknown;
}

/** A supergroup's id is its number behind -100. */
const SUPERGROUPS_FROM = -1_000_000_000_000;

const NOT_MODIFIED =
  'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message';

/** The topic that every forum has. Messages in it name none, and it is in no list of topics. */
export const GENERAL = 1;

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
      isForum: false,
      others: new Map(),
      meant: new Set<number>(),
      shown: new Map<number, ShownMessage>(),
      history: [],
      lastMessageId: 0,
      membership: 'member',
    };
    this.#chats.set(id, chat);
    return chat;
  }

  /** The chat of that id. Refuses when the bot has never met it, or may not write there. */
  find(id: number | undefined): Chat {
    const chat = id === undefined ? undefined : this.#chats.get(id);
    if (chat === undefined) throw badRequest('chat not found');
    if (chat.migratedTo !== undefined) throw upgraded(chat.migratedTo);
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
    const last = chat.type === 'supergroup' || chat.type === 'channel' ? chat.lastMessageId : this.#lastMessageId;
    const id = wanted ?? last + 1;
    if (chat.type === 'supergroup' || chat.type === 'channel') chat.lastMessageId = Math.max(last, id);
    else this.#lastMessageId = Math.max(last, id);
    return id;
  }

  /** Shows a message of the bot. */
  send(outgoing: Outgoing): { chat: Chat; message: ShownMessage } {
    const chat = this.find(outgoing.chatId);
    const { replyTo } = outgoing;
    const topicId = topicIn(chat, outgoing.topicId);
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
      ...(outgoing.rich && { rich: outgoing.rich.blocks, ...(outgoing.rich.is_rtl && { isRtl: true }) }),
      ...(outgoing.entities?.length && { entities: outgoing.entities }),
      ...(outgoing.replyMarkup !== undefined && { replyMarkup: outgoing.replyMarkup }),
      ...outgoing.file,
      ...(outgoing.album !== undefined && { album: outgoing.album }),
    };
    chat.shown.set(message.messageId, message);
    chat.history.push({ kind: 'sent', at: message.at, message: { ...message } });
    return { chat, message };
  }

  /** Changes a message's text, or makes it rich or plain. The same content again is refused, as the API does it. */
  edit(chatId: number, messageId: number, change: Change): { chat: Chat; message: ShownMessage } {
    const { chat, message } = this.#own(chatId, messageId);
    if (message.document || message.photo || message.audio) throw badRequest('there is no text in the message to edit');
    const { text, entities = [], rich, replyMarkup } = change;
    const wanted = [text, entities, rich?.blocks, rich?.is_rtl, replyMarkup];
    const { entities: shown = [], rich: blocks, isRtl } = message;
    refuseSame(wanted, [message.text, shown, blocks, isRtl, message.replyMarkup]);
    for (const part of ['entities', 'rich', 'isRtl', 'replyMarkup'] as const) delete message[part];
    Object.assign(message, {
      text,
      edits: message.edits + 1,
      editedAt: Date.now(),
      ...(entities.length > 0 && { entities }),
      ...(rich && { rich: rich.blocks, ...(rich.is_rtl && { isRtl: true }) }),
      ...(replyMarkup !== undefined && { replyMarkup }),
    });
    chat.history.push({ kind: 'edited', at: Date.now(), message: { ...message } });
    return { chat, message };
  }

  /** Changes the keyboard under a message, or removes it. */
  editMarkup(chatId: number, messageId: number, replyMarkup: unknown): { chat: Chat; message: ShownMessage } {
    const { chat, message } = this.#own(chatId, messageId);
    refuseSame([replyMarkup], [message.replyMarkup]);
    if (replyMarkup === undefined) delete message.replyMarkup;
    else message.replyMarkup = replyMarkup;
    chat.history.push({ kind: 'edited', at: Date.now(), message: { ...message } });
    return { chat, message };
  }

  #own(chatId: number, messageId: number): { chat: Chat; message: ShownMessage } {
    const chat = this.find(chatId);
    const message = chat.shown.get(messageId);
    if (message !== undefined) return { chat, message };
    throw badRequest(chat.others.has(messageId) ? "message can't be edited" : 'message to edit not found');
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

  /** Every chat that has something to show. */
  ids(): number[] {
    return [...this.#chats.keys()];
  }
}

/** The topic that a message goes to. A chat that has none ignores the number; the general topic cannot be named. */
export function topicIn(chat: Chat, topicId: number | undefined): number | undefined {
  if (topicId === undefined || topicId <= 0 || (chat.type !== 'private' && !chat.isForum)) return undefined;
  if (!chat.topics.has(topicId)) throw badRequest('message thread not found');
  return topicId;
}

function refuseSame(wanted: unknown, shown: unknown): void {
  if (JSON.stringify(wanted) === JSON.stringify(shown)) throw badRequest(NOT_MODIFIED);
}

function upgraded(migrate_to_chat_id: number): RefusedError {
  return new RefusedError({
    status: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id },
  });
}

/** Why the bot may not write in a chat any more. */
function whyClosed({ type, membership }: Chat): string | undefined {
  if (membership === 'member' || membership === 'administrator') return undefined;
  if (type === 'private') return 'bot was blocked by the user';
  return membership === 'left' ? `bot is not a member of the ${type} chat` : `bot was kicked from the ${type} chat`;
}
