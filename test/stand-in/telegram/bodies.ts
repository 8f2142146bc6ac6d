/** Chats and messages as the API describes them. */
import type { Chat, ShownFile, ShownMessage } from './chats.ts';

type Body = Record<string, unknown>;

/** A message of the bot. */
export function messageBody(chat: Chat, message: ShownMessage, bot: Body): Body {
  const { replyTo } = message;
  return {
    ...plainBody(chat, message, bot),
    ...(replyTo !== undefined && { reply_to_message: quotedBody(chat, replyTo, bot) }),
  };
}

function plainBody(chat: Chat, message: ShownMessage, bot: Body): Body {
  const { topicId, replyMarkup, album } = message;
  return {
    message_id: message.messageId,
    from: bot,
    chat: chatBody(chat),
    date: Math.floor(message.at / 1000),
    ...(message.editedAt !== undefined && { edit_date: Math.floor(message.editedAt / 1000) }),
    ...(topicId !== undefined && { message_thread_id: topicId, is_topic_message: true }),
    ...(album !== undefined && { media_group_id: album }),
    ...contentBody(message),
    ...(replyMarkup !== undefined && { reply_markup: replyMarkup }),
  };
}

/** A rich message has no text, a file has a caption. */
function contentBody({ messageId, text, rich, isRtl, entities, ...shown }: ShownMessage): Body {
  if (rich !== undefined) return { rich_message: { blocks: rich, ...(isRtl && { is_rtl: true }) } };
  const file = fileBody(messageId, shown);
  if (file === undefined) return { text, ...(entities && { entities }) };
  return {
    ...file,
    ...(text !== '' && { caption: text }),
    ...(entities && { caption_entities: entities }),
  };
}

function fileBody(messageId: number, { document, photo, audio }: ShownFile): Body | undefined {
  const file_id = `sent-${messageId}`;
  if (photo) return { photo: [{ file_id, width: photo.width, height: photo.height, file_size: photo.bytes }] };
  const named = document ?? audio;
  if (named === undefined) return undefined;
  const body = { file_id, file_name: named.name, file_size: named.bytes };
  return document ? { document: body } : { audio: { ...body, duration: 0 } };
}

/** A message as another one quotes it, without what it answers itself; one that is gone has the date 0, as in the API. */
export function quotedBody(chat: Chat, messageId: number, bot: Body): Body {
  const shown = chat.shown.get(messageId);
  if (shown !== undefined) return plainBody(chat, shown, bot);
  const { reply_to_message: _, ...other } = chat.others.get(messageId) ?? {};
  return { message_id: messageId, chat: chatBody(chat), date: 0, ...other };
}

/** A chat. */
export function chatBody({ id, type, title, isForum }: Chat): Body {
  if (type === 'private') return { id, type, first_name: title };
  return { id, type, title, ...(isForum && type === 'supergroup' && { is_forum: true }) };
}
