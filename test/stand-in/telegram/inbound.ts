import { type Chat, type Chats, type ChatType, chatBody, quotedBody } from './chats.ts';

/** How a user's message differs from a plain one. */
export interface SayOptions {
  /** The sender. Default: the chat's id, or 1 in a group. */
  fromId?: number;
  topicId?: number;
  chatType?: ChatType;
  firstName?: string;
  /** Default: the chat's next. */
  messageId?: number;
  /** The id of the message that this one answers. */
  replyTo?: number;
  /** Seconds since the epoch. Default: now. */
  date?: number;
  /** Send it as `edited_message` instead of `message`. */
  edited?: boolean;
  /** Further fields of the message, such as `photo`, `caption`, `document`, `media_group_id`. */
  extra?: Record<string, unknown>;
}

/** A user's message as an update, not numbered yet. Makes its chat and topic known to the bot. */
export function userMessage(chats: Chats, chatId: number, text: string, options: SayOptions): Record<string, unknown> {
  const { topicId, replyTo, extra } = options;
  const chat = chats.open(chatId, options.chatType, options.firstName);
  if (topicId !== undefined) chat.topics.add(topicId);
  const messageId = chats.nextMessageId(chat, options.messageId);
  const date = options.date ?? Math.floor(Date.now() / 1000);
  chat.others.set(messageId, { text, date });
  const message = {
    message_id: messageId,
    from: sender(chat, options),
    chat: { ...chatBody(chat), ...(topicId !== undefined && { is_forum: true }) },
    date,
    ...(options.edited && { edit_date: Math.floor(Date.now() / 1000) }),
    ...(topicId !== undefined && { message_thread_id: topicId, is_topic_message: true }),
    ...(replyTo !== undefined && { reply_to_message: quotedBody(chat, replyTo) }),
    ...(text !== '' && { text }),
    ...commandEntity(text),
    ...extra,
  };
  return { [options.edited ? 'edited_message' : 'message']: message };
}

function sender(chat: Chat, { fromId, firstName }: SayOptions): Record<string, unknown> {
  const id = fromId ?? (chat.id > 0 ? chat.id : 1);
  return { id, is_bot: false, first_name: firstName ?? `User ${id}`, language_code: 'en' };
}

/** The real server marks a command at the start of a text, and bot frameworks look for that mark. */
function commandEntity(text: string): Record<string, unknown> {
  const command = /^\/[A-Za-z0-9_]{1,32}(?:@\w+)?/.exec(text)?.[0];
  return command === undefined ? {} : { entities: [{ type: 'bot_command', offset: 0, length: command.length }] };
}
