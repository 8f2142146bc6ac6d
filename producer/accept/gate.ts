import type { Chat, MessageEntity, RichTextMention, RichTextTextMention, User } from '@grammyjs/types';
import { addresseeOf, isCommand } from '../../shared/telegram/commands.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import type { RawMessage } from './raw-message.ts';
import { mentionsInRich, readRich } from './read-rich.ts';

/** The chat of alerts, by its current id, and the operators: the people who may give commands there. */
export interface Desk {
  chatId: number;
  operators: ReadonlySet<number>;
}

/** The rules by which the producer accepts messages. */
export interface Gate {
  /** The ids of people, for their private chats, and of groups. */
  allowed: Pick<ReadonlySet<number>, 'has'> | 'everyone';
  /** Groups whose every message is for the bot. In other groups, a message must address the bot. */
  answersAll: Gate['allowed'];
  /** Absent without a chat of alerts. */
  desk?: Desk | undefined;
  bot: {
    id: number;
    /** The user name, without the `@`; `undefined` before Telegram's first answer. */
    name: string | undefined;
  };
}

/** A mark in a text: a mention, a command, a link. */
type RawEntity = Omit<Unchecked<MessageEntity>, 'user'> & { user?: Unchecked<User> | null };

/**
 * Whether the allow list admits a chat: by a person's id for that person's private chat, by a group's id for that group. In a
 * private chat both ids are the same, except in a channel's chat.
 */
export function isOpen({ allowed }: Gate, fromId: number, chatId: number, isPrivate: boolean): boolean {
  if (allowed === 'everyone') return true;
  return allowed.has(chatId) || (isPrivate && allowed.has(fromId));
}

/**
 * Whether the allow list lacks the sender of a group's message. Guests may not give commands that cost money or delete data.
 * An anonymous admin writes in the name of the group itself, which is allowed, and is no guest.
 */
export function isGuest(
  { allowed }: Gate,
  fromId: number,
  chatId: number,
  { sender_chat: senderChat }: RawMessage,
): boolean {
  if (allowed === 'everyone') return false;
  if (typeof senderChat === 'object' && senderChat !== null) return (senderChat as Unchecked<Chat>).id !== chatId;
  return !allowed.has(fromId);
}

/** Whether a command names another bot. Before we know our own name, every command counts as ours. */
export function isForAnother(message: RawMessage, { name }: Gate['bot']): boolean {
  const addressee = addresseeOf(textOf(message));
  return addressee !== undefined && name !== undefined && addressee.toLowerCase() !== name.toLowerCase();
}

/**
 * Whether a message of a group is for the bot: a command, a reply to the bot, or a mention in the text, the caption or
 * anywhere in a rich message. Only Telegram's marks count as mentions, not a name inside code or a link. Before we know our own
 * name, every mention counts: a needless answer is better than a lost message.
 */
export function isAddressed(message: RawMessage, chatId: number, { answersAll, bot }: Gate): boolean {
  if (answersAll === 'everyone' || answersAll.has(chatId)) return true;
  if (isCommand(textOf(message))) return true;
  return (
    isReplyTo(message, bot.id) ||
    mentions(message.text, message.entities, bot) ||
    mentions(message.caption, message.caption_entities, bot) ||
    mentionsInRich(message.rich_message, (mention) => isOurName(mention, bot))
  );
}

/** A command may stand in the text, in the caption, or in the first line of a rich message. */
function textOf({ text, caption, rich_message: rich }: RawMessage): string {
  return [text, caption].find((words) => typeof words === 'string') ?? readRich(rich).text;
}

function isOurName(
  { type, username, user }: Unchecked<RichTextMention | RichTextTextMention>,
  { id, name }: Gate['bot'],
): boolean {
  if (type === 'text_mention') return (user as RawEntity['user'])?.id === id;
  return name === undefined || String(username).replace(/^@/, '').toLowerCase() === name.toLowerCase();
}

function isReplyTo({ reply_to_message: replied }: RawMessage, botId: number): boolean {
  const { from, forum_topic_created: topic } = (replied ?? {}) as RawMessage;
  // Each message of a topic is a reply to the service message that opened the topic, and the bot may have opened the topic.
  return topic === undefined && from?.id === botId;
}

function mentions(text: unknown, entities: unknown, { id, name }: Gate['bot']): boolean {
  if (typeof text !== 'string' || !Array.isArray(entities)) return false;
  return (entities as (RawEntity | null)[]).some((entity) => {
    if (entity?.type === 'text_mention') return entity.user?.id === id;
    if (entity?.type !== 'mention' || typeof entity.offset !== 'number' || typeof entity.length !== 'number')
      return false;
    const mention = text.slice(entity.offset + 1, entity.offset + entity.length);
    return name === undefined || mention.toLowerCase() === name.toLowerCase();
  });
}
