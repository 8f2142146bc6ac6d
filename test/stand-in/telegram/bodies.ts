/** Chats and messages as the API describes them. */
import type { Body, Chat, Sent, ShownMessage } from './chats.ts';

/** A message of the bot, without what it answers. */
export function messageBody({ chat, message }: Sent, bot: Body): Body {
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
function contentBody({ messageId, text, rich, entities, document, photo, audio }: ShownMessage): Body {
  if (rich !== undefined) return { rich_message: { blocks: rich } };
  const file_id = `sent-${messageId}`;
  const caption = { ...(text !== '' && { caption: text }), ...(entities && { caption_entities: entities }) };
  if (photo) return { photo: [{ ...photo, file_id, file_size: photo.bytes }], ...caption };
  const { name, bytes } = document ?? audio ?? {};
  const file = { file_id, file_name: name, file_size: bytes };
  if (name !== undefined) return { ...(document ? { document: file } : { audio: file }), ...caption };
  return { text, ...(entities && { entities }) };
}

/** A message as another one quotes it, without what it answers itself; one that is gone has the date 0, as in the API. */
export function quotedBody(chat: Chat, messageId: number, bot: Body): Body {
  const shown = chat.shown.get(messageId);
  if (shown !== undefined) return messageBody({ chat, message: shown }, bot);
  const { reply_to_message: _, ...other } = chat.others.get(messageId) ?? {};
  return { message_id: messageId, chat: chatBody(chat), date: 0, ...other };
}

/** A chat as the API describes it. */
export function chatBody({ id, type, title, isForum }: Chat): Body {
  if (type === 'private') return { id, type, first_name: title };
  return { id, type, title, ...(isForum && { is_forum: true }) };
}
