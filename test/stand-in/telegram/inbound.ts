import { chatBody, quotedBody } from './bodies.ts';
import { type Chat, type Chats, type ChatType, GENERAL } from './chats.ts';
import { markedFields, textMentions } from './marks.ts';
import { isMeant, type Reader, reaches } from './privacy.ts';

/** How a user's message differs from a plain one. */
export interface SayOptions {
  /** The sender. Default: the chat's id, or 1 in a group. */
  fromId?: number;
  topicId?: number;
  chatType?: ChatType;
  firstName?: string;
  username?: string;
  /** What the sender's app speaks. Default: en. */
  languageCode?: string;
  /**
   * Who speaks instead of a person: `group` for an anonymous administrator, a channel by its id and title. The sender is
   * then an account that stands for all of them, as in the API.
   */
  senderChat?: 'group' | { id: number; title: string };
  /** Default: the chat's next. */
  messageId?: number;
  /** The id of the message that this one answers. */
  replyTo?: number;
  /** Seconds since the epoch. Default: now. */
  date?: number;
  /** Somebody without a user name who is mentioned: the words in the text or caption that stand for them. */
  textMention?: { words: string; user: { id: number; [more: string]: unknown } };
  /** Further fields of the message, such as `photo`, `caption`, `media_group_id`, or what inbound-kinds.ts builds. */
  extra?: Record<string, unknown>;
}

type Body = Record<string, unknown>;

const ANONYMOUS = { id: 1_087_968_824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' };
const CHANNEL_BOT = { id: 136_817_688, is_bot: true, first_name: 'Channel', username: 'Channel_Bot' };

/**
 * A user's message as an update, not numbered yet; undefined where it does not reach the bot. Makes its chat and topic
 * known to the bot.
 */
export function userMessage(
  chats: Chats,
  chatId: number,
  text: string,
  options: SayOptions,
  reader: Reader,
): Body | undefined {
  const chat = chats.open(chatId, options.chatType, options.firstName);
  openTopic(chat, options.topicId);
  const message = bodyOf(chats, chat, text, options, reader);
  const messageId = message.message_id as number;
  chat.others.set(messageId, message);
  if (isMeant(message, chat, reader)) chat.meant.add(messageId);
  const kind = chat.type === 'channel' ? 'channel_post' : 'message';
  const isHeard = reaches(message, chat, reader);
  chat.history.push({ kind: 'said', at: Date.now(), message, isHeard });
  return isHeard ? { [kind]: message } : undefined;
}

/** How an edit differs from one of a text, now. */
export interface EditOptions {
  /** Seconds since the epoch. Default: now. */
  editDate?: number;
  /** Further fields of the message as it is then, such as a caption. */
  extra?: Record<string, unknown>;
}

/**
 * A user's message as it reads after an edit, as an update; undefined where it does not reach the bot. It keeps its id, its
 * sender, its date and its place. Throws where there is no such message: nobody can edit that.
 */
export function editedMessage(
  chat: Chat,
  messageId: number,
  text: string,
  { editDate = Math.floor(Date.now() / 1000), extra = {} }: EditOptions,
  reader: Reader,
): Body | undefined {
  const before = chat.others.get(messageId);
  if (before === undefined) throw new Error(`Nobody wrote message ${messageId} of chat ${chat.id}, so it has no edit.`);
  const { text: _text, entities: _entities, caption_entities: _marks, ...rest } = before;
  const content: Body = { ...(text !== '' && { text }), ...extra };
  const message = { ...rest, edit_date: editDate, ...content, ...markedFields({ ...rest, ...content }) };
  chat.others.set(messageId, message);
  if (isMeant(message, chat, reader)) chat.meant.add(messageId);
  const kind = chat.type === 'channel' ? 'edited_channel_post' : 'edited_message';
  const isHeard = reaches(message, chat, reader);
  chat.history.push({ kind: 'said', at: Date.now(), message, isHeard });
  return isHeard ? { [kind]: message } : undefined;
}

function openTopic(chat: Chat, topicId: number | undefined): void {
  if (topicId === undefined) return;
  if (chat.type === 'supergroup') chat.isForum = true;
  if (topicId !== GENERAL) chat.topics.add(topicId);
}

function bodyOf(chats: Chats, chat: Chat, text: string, options: SayOptions, reader: Reader): Body {
  const { textMention: named, extra = {} } = options;
  const content: Body = { ...(text !== '' && { text }), ...extra };
  for (const [field, name] of [
    ['text', 'entities'],
    ['caption', 'caption_entities'],
  ] as const) {
    const words = content[field];
    if (named === undefined || typeof words !== 'string') continue;
    const given = (content[name] ?? []) as object[];
    content[name] = [...given, ...textMentions(words, named.words, named.user)];
  }
  return {
    message_id: chats.nextMessageId(chat, options.messageId),
    ...senderOf(chat, options),
    chat: chatBody(chat),
    date: options.date ?? Math.floor(Date.now() / 1000),
    ...placeOf(chat, options, reader),
    ...content,
    ...markedFields(content),
  };
}

/** A message in the general topic names none; in another one it answers that topic's first message, or what it says. */
function placeOf(chat: Chat, { topicId, replyTo }: SayOptions, { bot }: Reader): Body {
  const place =
    topicId === undefined || (topicId === GENERAL && chat.isForum)
      ? {}
      : { message_thread_id: topicId, is_topic_message: true };
  if (replyTo !== undefined) return { ...place, reply_to_message: quotedBody(chat, replyTo, bot as Body) };
  const opensTopic = chat.isForum && 'message_thread_id' in place;
  return opensTopic ? { ...place, reply_to_message: topicRoot(chat, topicId ?? 0) } : place;
}

function topicRoot(chat: Chat, topicId: number): Body {
  return {
    message_id: topicId,
    from: userBody(1),
    chat: chatBody(chat),
    date: 1,
    message_thread_id: topicId,
    is_topic_message: true,
    forum_topic_created: { name: `Topic ${topicId}`, icon_color: 7_322_096 },
  };
}

function senderOf(chat: Chat, { fromId, firstName, username, languageCode = 'en', senderChat }: SayOptions): Body {
  if (senderChat === 'group') return { from: ANONYMOUS, sender_chat: chatBody(chat) };
  if (senderChat !== undefined) return { from: CHANNEL_BOT, sender_chat: { ...senderChat, type: 'channel' } };
  if (chat.type === 'channel') return { sender_chat: chatBody(chat) };
  const user = userBody(fromId ?? (chat.id > 0 ? chat.id : 1), firstName);
  return { from: { ...user, ...(username !== undefined && { username }), language_code: languageCode } };
}

/** A person. */
export function userBody(id: number, firstName = `User ${id}`): Body {
  return { id, is_bot: false, first_name: firstName };
}
