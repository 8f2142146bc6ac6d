/** The methods that show something in a chat, change it or remove it. */
import { type Change, type Chat, GENERAL, topicIn } from './chats.ts';
import { type Desk, described, type Method, placeOf, send } from './desk.ts';
import { type Formatted, formattedText } from './formatted.ts';
import { readMarkup } from './markup.ts';
import { asFlag, asInteger, asText, type Params } from './params.ts';
import { badRequest } from './refusal.ts';
import { checkRichMessage, plainText, type RichMessage, readRichMessage } from './rich-message.ts';
import { SENDING_FILES } from './sending-files.ts';

const TEXT_UNITS_MAX = 4096;
const ACTIONS = new Set(
  'typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location record_video_note upload_video_note'.split(
    ' ',
  ),
);

/** The text of a message. White space alone is no text. */
function requiredText(desk: Desk, params: Params): Formatted {
  if ((asText(params.text) ?? '') === '') throw badRequest('message text is empty');
  return formattedText(params, 'text', 'entities', desk.version);
}

function checkText({ text }: Formatted): void {
  if (text === '') throw badRequest('text must be non-empty');
  if (text.length > TEXT_UNITS_MAX) throw badRequest('message is too long');
}

const sendMessage: Method = (desk, params) => {
  const formatted = requiredText(desk, params);
  const place = placeOf(desk, params);
  checkText(formatted);
  return send(desk, { ...place, ...formatted });
};

const richOf = (desk: Desk, params: Params, isDraft = false): RichMessage =>
  readRichMessage(params.rich_message, { version: desk.version, isDraft });

const sendRichMessage: Method = (desk, params) => {
  const rich = richOf(desk, params);
  const place = placeOf(desk, params);
  checkRichMessage(rich);
  return send(desk, { ...place, rich, text: plainText(rich.blocks) });
};

const editMessageText: Method = (desk, params) => {
  const rich = params.rich_message === undefined ? undefined : richOf(desk, params);
  const formatted = rich ? { text: plainText(rich.blocks), entities: [] } : requiredText(desk, params);
  const replyMarkup = readMarkup(params.reply_markup, desk.version, true);
  const isInline = params.inline_message_id !== undefined && params.chat_id === undefined;
  const chatId = isInline ? 0 : desk.chats.find(asInteger(params.chat_id)).id;
  if (rich) checkRichMessage(rich);
  else checkText(formatted);
  const change: Change = { ...formatted, rich, replyMarkup };
  if (isInline) return desk.summonses.edit(asText(params.inline_message_id) ?? '', change);
  return described(desk, desk.chats.edit(chatId, asInteger(params.message_id) ?? 0, change));
};

const editMessageReplyMarkup: Method = (desk, params) => {
  const replyMarkup = readMarkup(params.reply_markup, desk.version, true);
  const chat = desk.chats.find(asInteger(params.chat_id));
  return described(desk, desk.chats.editMarkup(chat.id, asInteger(params.message_id) ?? 0, replyMarkup));
};

const deleteMessage: Method = (desk, params) => {
  desk.chats.delete(desk.chats.find(asInteger(params.chat_id)).id, asInteger(params.message_id) ?? 0);
  return true;
};

/** The general topic can be named here, and only here. */
const sendChatAction: Method = (desk, params) => {
  if (!ACTIONS.has(asText(params.action) ?? '')) throw badRequest('wrong parameter action in request');
  const chat = desk.chats.find(asInteger(params.chat_id));
  const topicId = asInteger(params.message_thread_id);
  if (topicId !== GENERAL) topicIn(chat, topicId);
  return true;
};

/** The chat and topic of a draft. Before 9.5 a bot could draft in topics only. */
function draftPlace(desk: Desk, params: Params): { chat: Chat; topicId: number | undefined; draftId: number } {
  const chat = desk.chats.find(asInteger(params.chat_id));
  const isOpen = chat.type === 'private' && (desk.version.knows('9.5') || chat.topics.size > 0);
  if (!isOpen) throw badRequest('TEXTDRAFT_PEER_INVALID');
  const { draft_id } = params;
  const draftId = typeof draft_id === 'string' ? 0 : (asInteger(draft_id) ?? 0);
  if (draftId === 0) throw badRequest('RANDOM_ID_INVALID');
  return { chat, topicId: topicIn(chat, asInteger(params.message_thread_id)), draftId };
}

const stopsOf = ({ can_stop, keep_on_stop }: Params) => ({
  canStop: asFlag(can_stop),
  keepOnStop: asFlag(keep_on_stop),
});

/** A preview beside a private chat, which nothing keeps. */
const sendMessageDraft: Method = (desk, params) => {
  const { text, entities } = formattedText(params, 'text', 'entities', desk.version);
  const { chat, topicId, draftId } = draftPlace(desk, params);
  if (text === '' && !desk.version.knows('10.0')) throw badRequest('text must be non-empty');
  if (text.length > TEXT_UNITS_MAX) throw badRequest('message is too long');
  desk.drafts.show(chat.id, {
    draftId,
    text: text || 'Thinking…',
    ...(entities.length > 0 && { entities }),
    ...(topicId !== undefined && { topicId }),
    ...stopsOf(params),
  });
  return true;
};

const sendRichMessageDraft: Method = (desk, params) => {
  const rich = richOf(desk, params, true);
  const { chat, topicId, draftId } = draftPlace(desk, params);
  checkRichMessage(rich);
  desk.drafts.show(chat.id, {
    draftId,
    text: plainText(rich.blocks),
    rich: rich.blocks,
    ...(topicId !== undefined && { topicId }),
    ...stopsOf(params),
  });
  return true;
};

/** By their names in lower case. */
export const SENDING: Readonly<Record<string, Method>> = {
  sendmessage: sendMessage,
  sendrichmessage: sendRichMessage,
  editmessagetext: editMessageText,
  editmessagereplymarkup: editMessageReplyMarkup,
  deletemessage: deleteMessage,
  ...SENDING_FILES,
  sendchataction: sendChatAction,
  sendmessagedraft: sendMessageDraft,
  sendrichmessagedraft: sendRichMessageDraft,
};
