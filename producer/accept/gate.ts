import type { Chat, MessageEntity, RichTextMention, RichTextTextMention, User } from '@grammyjs/types';
import { addresseeOf, isCommand } from '../../shared/telegram/commands.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import type { RawMessage } from './raw-message.ts';
import { mentionsInRich, readRich } from './read-rich.ts';

/** The chat of alerts, by its id now, and the people who may act there as operators. */
export interface Desk {
  chatId: number;
  operators: ReadonlySet<number>;
}

/** Who may talk to the bot, and what counts as talking to it. */
export interface Gate {
  /** People, for their private chats, and groups. */
  allowed: Pick<ReadonlySet<number>, 'has'> | 'everyone';
  /** Groups in which every message is for the bot. In all others it must be addressed. */
  answersAll: Gate['allowed'];
  /** Where operators work: in the chat of alerts. Absent where there is none. */
  desk?: Desk | undefined;
  bot: {
    id: number;
    /** Its name, without the `@`; `undefined` until Telegram has told it. */
    name: string | undefined;
  };
}

/** A mark in a text: a mention, a command, a link. */
type RawEntity = Omit<Unchecked<MessageEntity>, 'user'> & { user?: Unchecked<User> | null };

/**
 * Whether the place is open: a person's id opens the private chat with that person, a group's id opens that group. In a
 * private chat both ids are the same, but for a chat of a channel.
 */
export function isOpen({ allowed }: Gate, fromId: number, chatId: number, isPrivate: boolean): boolean {
  if (allowed === 'everyone') return true;
  return allowed.has(chatId) || (isPrivate && allowed.has(fromId));
}

/**
 * Whether a sender in a group is not on the allow list as a person. What costs or forgets is not done for a guest. An
 * anonymous admin speaks as the group itself, which is allowed.
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

/** Whether a command names another bot. Without a name of our own, every command is ours. */
export function isForAnother(message: RawMessage, { name }: Gate['bot']): boolean {
  const addressee = addresseeOf(textOf(message));
  return addressee !== undefined && name !== undefined && addressee.toLowerCase() !== name.toLowerCase();
}

/**
 * Whether a message of a group is for the bot: a command, a reply to the bot, or a mention in the text, the caption or
 * anywhere in a rich message.
 * Only the server's marks count as mentions: a name inside code or a link is none. Without a name of our own, every
 * mention counts: what we cannot tell apart is answered rather than lost.
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
  // Each message of a topic is a reply to the service message that opened it, which the bot may have done.
  return topic === undefined && from?.id === botId;
}

function mentions(text: unknown, entities: unknown, { id, name }: Gate['bot']): boolean {
  if (typeof text !== 'string' || !Array.isArray(entities)) return false;
  return (entities as (RawEntity | null)[]).some((entity) => {
    if (entity?.type === 'text_mention') return entity.user?.id === id;
    if (entity?.type !== 'mention' || typeof entity.offset !== 'number' || typeof entity.length !== 'number')
      return false;
    const named = text.slice(entity.offset + 1, entity.offset + entity.length);
    return name === undefined || named.toLowerCase() === name.toLowerCase();
  });
}
