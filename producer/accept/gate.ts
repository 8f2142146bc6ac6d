import type { Chat, MessageEntity, RichTextMention, RichTextTextMention, User } from '@grammyjs/types';
import { addresseeOf, isCommand } from '../../shared/telegram/commands.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import type { RawMessage } from './raw-message.ts';
import { mentionsInRich, readRich } from './read-rich.ts';

/** The current id of the operators' chat, and the ids of the operators, who may give commands there. */
export interface Desk {
  chatId: number;
  operators: ReadonlySet<number>;
}

/** The rules by which the producer accepts messages. */
export interface Gate {
  /** The ids of the allowed groups and people. The id of a person admits that person's private chat. */
  allowed: Pick<ReadonlySet<number>, 'has'> | 'everyone';
  /** The groups in which every message is for the bot. In other groups, a message must address the bot. */
  answersAll: Gate['allowed'];
  /** Absent if the operators have no chat. */
  desk?: Desk | undefined;
  bot: {
    id: number;
    /** The user name, without the `@`; `undefined` until Telegram has reported it. */
    name: string | undefined;
  };
}

/** An entity that Telegram marks in a text, such as a mention, a command or a link, with its fields unchecked. */
type RawEntity = Omit<Unchecked<MessageEntity>, 'user'> & { user?: Unchecked<User> | null };

/**
 * Whether the allow list admits a message: the list is `everyone`, or contains the id of the chat or, for a private chat, the
 * id of the person. These two ids are usually the same, but not in every private chat.
 */
export function isOpen({ allowed }: Gate, fromId: number, chatId: number, isPrivate: boolean): boolean {
  if (allowed === 'everyone') return true;
  return allowed.has(chatId) || (isPrivate && allowed.has(fromId));
}

/**
 * Whether the author of a group's message is a guest: a person outside the allow list, or another chat on whose behalf somebody
 * writes. If everyone is allowed, there are no guests. An admin who writes on the group's behalf is not a guest, either. Guests
 * may not give commands that cost money or delete data.
 */
export function isGuest({ allowed }: Gate, fromId: number, chatId: number, message: RawMessage): boolean {
  const { sender_chat: senderChat } = message;
  if (allowed === 'everyone') return false;
  if (typeof senderChat === 'object' && senderChat !== null) return (senderChat as Unchecked<Chat>).id !== chatId;
  return !allowed.has(fromId);
}

/** Whether a message is a command that names another bot. False while our own name is unknown. */
export function isForAnother(message: RawMessage, { name }: Gate['bot']): boolean {
  const addressee = addresseeOf(textOf(message));
  return addressee !== undefined && name !== undefined && addressee.toLowerCase() !== name.toLowerCase();
}

/**
 * Whether a message of a group is for the bot. In a group of `answersAll`, every message is. Elsewhere the message must be a
 * command, be a reply to the bot, or mention the bot in its text, its caption or anywhere in a rich message. Only entities that
 * Telegram marks count as mentions, not a name inside code or a link. While our own name is unknown, every `@name` counts,
 * because a needless answer is better than a lost message.
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

/** The text that may begin with a command: the text of a message, else its caption, else the text of its rich message. */
function textOf({ text, caption, rich_message: rich }: RawMessage): string {
  return [text, caption].find((words) => typeof words === 'string') ?? readRich(rich).text;
}

function isOurName(mention: Unchecked<RichTextMention | RichTextTextMention>, { id, name }: Gate['bot']): boolean {
  const { type, username, user } = mention;
  if (type === 'text_mention') return (user as RawEntity['user'])?.id === id;
  return name === undefined || String(username).replace(/^@/, '').toLowerCase() === name.toLowerCase();
}

function isReplyTo({ reply_to_message: replied }: RawMessage, botId: number): boolean {
  const { from, forum_topic_created: topic } = (replied ?? {}) as RawMessage;
  // In a topic, a message that answers no other is a reply to the service message that opened the topic, maybe the bot's own.
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
