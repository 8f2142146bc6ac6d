/** What of a group reaches a bot. */
import type { Chat } from './chats.ts';
import type { Entity } from './entities.ts';

type Message = Record<string, unknown>;

/** A message with one of these says what happened in a chat; every bot in it gets that. */
const SERVICE = [
  'new_chat_members',
  'left_chat_member',
  'new_chat_title',
  'new_chat_photo',
  'delete_chat_photo',
  'group_chat_created',
  'supergroup_chat_created',
  'migrate_to_chat_id',
  'migrate_from_chat_id',
  'pinned_message',
  'message_auto_delete_timer_changed',
  'forum_topic_created',
  'forum_topic_edited',
  'forum_topic_closed',
  'forum_topic_reopened',
  'general_forum_topic_hidden',
  'general_forum_topic_unhidden',
  'video_chat_scheduled',
  'video_chat_started',
  'video_chat_ended',
  'video_chat_participants_invited',
  'boost_added',
];

/** The bot, and whether it hides behind privacy mode. */
export interface Reader {
  readonly bot: { readonly id?: unknown; readonly username?: unknown };
  readonly hasPrivacy: boolean;
}

/**
 * Whether a message reaches the bot. In privacy mode a group's do only when they are a command that is not for another
 * bot, an answer to what the bot said or to what was meant for it, or news of the chat. A mention is not enough. An
 * administrator gets all.
 */
export function reaches(message: Message, chat: Chat, reader: Reader): boolean {
  if (chat.membership === 'left' || chat.membership === 'kicked') return false;
  if (chat.type === 'private' || chat.type === 'channel') return true;
  if (!reader.hasPrivacy || chat.membership === 'administrator') return true;
  return SERVICE.some((field) => message[field] !== undefined) || isMeant(message, chat, reader);
}

/** Whether a message is for the bot by what it says or what it answers. */
export function isMeant(message: Message, chat: Chat, { bot }: Reader): boolean {
  const answered = message.reply_to_message as { message_id?: number; from?: { id?: unknown } } | undefined;
  if (answered !== undefined && (answered.from?.id === bot.id || chat.meant.has(answered.message_id ?? 0))) return true;
  const [text, entities] =
    typeof message.text === 'string'
      ? [message.text, message.entities]
      : [String(message.caption ?? ''), message.caption_entities];
  const command = ((entities ?? []) as Entity[]).find(({ type, offset }) => type === 'bot_command' && offset === 0);
  if (command === undefined) return false;
  const [, name] = text.slice(0, command.length).split('@');
  return name === undefined || name.toLowerCase() === String(bot.username).toLowerCase();
}
