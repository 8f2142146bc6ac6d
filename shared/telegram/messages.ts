import type { InputRichBlock, LinkPreviewOptions, Message, MessageEntity, SentGuestMessage } from '@grammyjs/types';
import { failed, type TelegramResult } from './failure.ts';
import {
  type Arguments,
  CALL_TIMEOUT_MS,
  type CallMethod,
  METHOD_MISSING,
  MISSING_MS,
  ofOptional,
  type Timing,
  type Unchecked,
  unlessMissing,
  withoutValue,
} from './method.ts';
import type { FormFile } from './upload.ts';

/** The chat, and perhaps the topic, of a message. */
export interface Destination {
  chatId: number;
  topicId?: number;
}

/** A button under a message. A press of the button arrives as `command`, a bot command of 1 to 64 bytes. */
export interface Button {
  text: string;
  command: string;
  /** The button deletes or declines something, so Telegram apps show it in red. Servers before Bot API 9.4 ignore this. */
  destroys?: true;
}

/** A button that opens a page. */
export type Link = Readonly<{ text: string; url: string }>;

/** The methods that send a file, by the file's kind, which is also the name of the form's field for the file. */
const FILE_METHODS = { photo: 'sendPhoto', audio: 'sendAudio', document: 'sendDocument' } as const;
/** The form in which Telegram apps show a file: as a picture, with a player, or by its name. */
export type FileKind = keyof typeof FILE_METHODS;

/** A file to send. */
export interface OutboundFile {
  /** Telegram apps do not show the name of a photo. */
  name: string;
  bytes: Buffer;
  /** By default a document. */
  kind?: FileKind;
  /** The text under the file, of at most 1024 UTF-16 units; empty for none. */
  caption: string;
}

/** The options of a message. */
export interface SendOptions extends Timing {
  /** The message arrives without a sound. */
  isSilent?: boolean;
  /** The formatting of the text, by offsets in UTF-16 units. */
  entities?: MessageEntity[];
  /** The id of the message to which this one replies. If that message was deleted, this one is sent all the same. */
  replyTo?: number | undefined;
  buttons?: readonly (readonly (Button | Link)[])[] | undefined;
}

/** The result of a send: the id of the new message. */
type SendResult = Promise<TelegramResult<{ messageId: number }>>;

/** The methods of the Bot API that show or change something in a chat. Contract: no method throws; a failure is a value. */
export interface Messages {
  /** Sends a text of 1 to 4096 UTF-16 units. */
  sendMessage(to: Destination, text: string, options?: SendOptions): SendResult;
  /** Sends a rich message. Fails as `not_offered` on servers before Bot API 10.2, and then for a day without a request. */
  sendRichMessage(
    to: Destination,
    blocks: InputRichBlock<never>[],
    options?: Omit<SendOptions, 'entities'>,
  ): SendResult;
  /** Sends a file of 1 byte to 50 MB. Fails as `rejected` if Telegram cannot show the file as its kind. */
  sendFile(to: Destination, file: OutboundFile, options?: Omit<SendOptions, 'entities'>): SendResult;
  /** Sends 2 to 10 pictures as one album. If Telegram cannot show one of them, all fail as `rejected`. */
  sendAlbum(
    to: Destination,
    photos: readonly Omit<OutboundFile, 'kind'>[],
    options?: Omit<SendOptions, 'entities' | 'buttons'>,
  ): SendResult;
  /** Replaces the text and the buttons of a message of ours. Succeeds if nothing changes. */
  editMessage(
    to: Destination,
    messageId: number,
    text: string,
    options?: Pick<SendOptions, 'entities' | 'buttons'> & Timing,
  ): Promise<TelegramResult<void>>;
  /**
   * Answers a summons with a text in a chat that the bot is not part of. Waits at most `timeoutMs`. Returns the id for edits.
   * Fails as `rejected` if the summons is too old or has an answer, perhaps from an earlier call whose result was lost.
   */
  answerSummons(queryId: string, text: string, timeoutMs?: number): Promise<TelegramResult<{ inlineId: string }>>;
  /** Replaces the text that `answerSummons` sent. Succeeds if nothing changes. */
  editSummoned(inlineId: string, text: string, entities?: MessageEntity[]): Promise<TelegramResult<void>>;
  /** Removes the buttons of a message of ours. Succeeds if there are none. */
  removeButtons(to: Destination, messageId: number): Promise<TelegramResult<void>>;
  /** Deletes a message of ours. Succeeds if the message is already gone. */
  deleteMessage(to: Destination, messageId: number): Promise<TelegramResult<void>>;
  /** Ends the app's wait after a button press. Succeeds even when late. Only the presser sees `words`, 1 to 200 characters. */
  answerPress(pressId: string, words?: string): Promise<TelegramResult<void>>;
  /**
   * Shows a text of 1 to 4096 UTF-16 units as a draft in a private chat, in place of an earlier draft with the same id (never
   * 0). The draft vanishes after 30 seconds. Fails as `not_offered` on servers before Bot API 9.5.
   */
  sendDraft(to: Destination, draftId: number, text: string, entities?: MessageEntity[]): Promise<TelegramResult<void>>;
  /** Shows a typing indicator for 5 seconds. Fails as a message would fail, and leaves nothing in the chat. */
  sendTyping(to: Destination): Promise<TelegramResult<void>>;
}

/** Short, because a reply waits for a draft that is in flight. */
const DRAFT_TIMEOUT_MS = 3_000;
const NO_TOPIC = /message thread not found|TOPIC_(?:DELETED|CLOSED|ID_INVALID)/i;
const SAME_TEXT = /message is not modified/i;
const MESSAGE_GONE = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i;
const ALREADY_DELETED = /message to delete not found|MESSAGE_ID_INVALID/i;
const PRESS_TOO_OLD = /query is too old|query ID is invalid/i;
/** Longer than the timeout of a text, because a file may be as large as 50 MB and the connection slow. */
const UPLOAD_TIMEOUT_MS = 300_000;
const DONE: TelegramResult<void> = { ok: true, value: undefined };

/** Sends files in a form. Contract: never throws. */
type UploadFiles = <Name extends (typeof FILE_METHODS)[FileKind] | 'sendMediaGroup'>(
  method: Name,
  fields: Omit<Arguments<Name>, FileKind>,
  files: readonly FormFile[],
  timeoutMs: number,
) => Promise<TelegramResult<unknown>>;

/**
 * Implements `Messages` with calls of the Bot API. Without `linkPreviews`, messages disable previews: Telegram's servers fetch
 * a previewed page at once, so a URL made up by the model could carry words of the chat to a stranger before anybody reads it.
 */
export function messagesOver(call: CallMethod, upload: UploadFiles, linkPreviews: boolean): Messages {
  const previews: Previews = linkPreviews ? {} : { link_preview_options: { is_disabled: true } };
  let richMissingUntilMs = 0;
  return {
    async sendMessage(to, text, options = {}) {
      const payload = { text, ...previews, ...textFields(options), ...sendFields(options) };
      return messageIn(await inTopic(to, (place) => call('sendMessage', { ...place, ...payload }, CALL_TIMEOUT_MS)));
    },
    async sendRichMessage(to, blocks, options = {}) {
      if (Date.now() < richMissingUntilMs) return failed('not_offered', 'the server has no rich messages');
      // Without `skip_entity_detection`, Telegram turns amounts, paths and numbers into links.
      const payload = { rich_message: { blocks, skip_entity_detection: true }, ...previews, ...sendFields(options) };
      const result = await inTopic(to, (place) => call('sendRichMessage', { ...place, ...payload }, CALL_TIMEOUT_MS));
      if (!result.ok && METHOD_MISSING.test(result.failure.description)) richMissingUntilMs = Date.now() + MISSING_MS;
      return messageIn(unlessMissing(result));
    },
    async sendFile(to, { name, bytes, caption, kind = 'document' }, options = {}) {
      const fields = { ...(caption !== '' && { caption }), ...sendFields(options) };
      const sendTo = (place: ReturnType<typeof address>) =>
        upload(FILE_METHODS[kind], { ...place, ...fields }, [{ field: kind, name, bytes }], UPLOAD_TIMEOUT_MS);
      return messageIn(await inTopic(to, sendTo));
    },
    async sendAlbum(to, photos, options = {}) {
      const { media, files } = albumOf(photos);
      const result = await inTopic(to, (place) =>
        upload('sendMediaGroup', { ...place, media, ...sendFields(options) }, files, UPLOAD_TIMEOUT_MS),
      );
      return messageIn(firstOf(result, photos.length));
    },
    async editMessage(to, messageId, text, options = {}) {
      const payload = { ...idsOf(to, messageId), text, ...previews, ...textFields(options), ...keyboard(options) };
      return editResult(await call('editMessageText', payload, CALL_TIMEOUT_MS));
    },
    ...inForeignChats(call, previews),
    async removeButtons(to, messageId) {
      return editResult(await call('editMessageReplyMarkup', idsOf(to, messageId), CALL_TIMEOUT_MS));
    },
    async deleteMessage(to, messageId) {
      const result = await call('deleteMessage', idsOf(to, messageId), CALL_TIMEOUT_MS);
      return !result.ok && ALREADY_DELETED.test(result.failure.description) ? DONE : withoutValue(result);
    },
    async answerPress(pressId, words) {
      const payload = { callback_query_id: pressId, ...(words !== undefined && { text: words, show_alert: true }) };
      const result = await call('answerCallbackQuery', payload, CALL_TIMEOUT_MS);
      return !result.ok && PRESS_TOO_OLD.test(result.failure.description) ? DONE : withoutValue(result);
    },
    async sendDraft(to, draftId, text, entities = []) {
      // A draft locks the input field of some Telegram apps, so a user can stop the answer only with the draft's own button.
      const stopOptions = { can_stop: true, keep_on_stop: true };
      const content = { text, ...previews, ...textFields({ entities }) };
      const payload = { ...address(to), draft_id: draftId, ...content, ...stopOptions };
      return ofOptional(await call('sendMessageDraft', payload, DRAFT_TIMEOUT_MS));
    },
    async sendTyping(to) {
      return withoutValue(await call('sendChatAction', { ...address(to), action: 'typing' }, CALL_TIMEOUT_MS));
    },
  };
}

type Previews = { link_preview_options?: LinkPreviewOptions };

/** Implements the methods for chats that the bot is not part of. */
function inForeignChats(call: CallMethod, previews: Previews): Pick<Messages, 'answerSummons' | 'editSummoned'> {
  return {
    async answerSummons(queryId, text, timeoutMs = CALL_TIMEOUT_MS) {
      const input_message_content = { message_text: text, ...previews };
      const result = { type: 'article' as const, id: 'answer', title: 'Answer', input_message_content };
      const answered = await call('answerGuestQuery', { guest_query_id: queryId, result }, timeoutMs);
      // A server without the method will never accept an answer.
      const isMissing = !answered.ok && METHOD_MISSING.test(answered.failure.description);
      if (!answered.ok) return isMissing ? failed('rejected', answered.failure.description) : answered;
      const { inline_message_id: inlineId } = (answered.value ?? {}) as Unchecked<SentGuestMessage>;
      if (typeof inlineId !== 'string') return failed('unknown', 'an answer to a summons that names no message');
      return { ok: true, value: { inlineId } };
    },
    async editSummoned(inlineId, text, entities = []) {
      const payload = { inline_message_id: inlineId, text, ...previews, ...textFields({ entities }) };
      return editResult(await call('editMessageText', payload, CALL_TIMEOUT_MS));
    },
  };
}

/** Sends to a chat or a topic. If the topic is gone or closed, Telegram has sent nothing, so this sends to the chat itself. */
async function inTopic(
  to: Destination,
  send: (place: ReturnType<typeof address>) => Promise<TelegramResult<unknown>>,
): Promise<TelegramResult<unknown>> {
  const result = await send(address(to));
  const isGone = !result.ok && to.topicId !== undefined && NO_TOPIC.test(result.failure.description);
  return isGone ? send(address({ chatId: to.chatId })) : result;
}

/** An album as parts of a form. Each photo refers to the field of its file. */
function albumOf(photos: readonly Omit<OutboundFile, 'kind'>[]) {
  return {
    files: photos.map(({ name, bytes }, at): FormFile => ({ field: `photo${at}`, name, bytes })),
    media: photos.map(({ caption }, at) => {
      return { type: 'photo' as const, media: `attach://photo${at}`, ...(caption !== '' && { caption }) };
    }),
  };
}

/** The first message of an album of `count` messages; no value if the answer does not name all of them. Passes on a failure. */
function firstOf(result: TelegramResult<unknown>, count: number): TelegramResult<unknown> {
  if (!result.ok) return result;
  const messages = Array.isArray(result.value) ? (result.value as unknown[]) : [];
  return { ok: true, value: messages.length === count ? messages[0] : undefined };
}

function messageIn(result: TelegramResult<unknown>): TelegramResult<{ messageId: number }> {
  if (!result.ok) return result;
  const { message_id: messageId } = (result.value ?? {}) as Unchecked<Message>;
  if (typeof messageId !== 'number') return failed('unknown', 'an answer to a send that names no message');
  return { ok: true, value: { messageId } };
}

function textFields({ entities = [] }: SendOptions) {
  return entities.length > 0 ? { entities } : {};
}

function keyboard({ buttons = [] }: SendOptions) {
  const keyOf = (button: Button | Link) =>
    'url' in button
      ? { text: button.text, url: button.url }
      : { text: button.text, callback_data: button.command, ...(button.destroys && { style: 'danger' as const }) };
  const rows = buttons.map((row) => row.map(keyOf));
  return rows.length > 0 ? { reply_markup: { inline_keyboard: rows } } : {};
}

function sendFields({ isSilent, replyTo, buttons }: SendOptions) {
  return {
    ...keyboard({ buttons }),
    ...(isSilent && { disable_notification: true }),
    ...(replyTo !== undefined && { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
  };
}

/** The result of an edit. An edit that changes nothing succeeds. `message_gone`: the message is gone or cannot be edited. */
function editResult(result: TelegramResult<unknown>): TelegramResult<void> {
  if (result.ok || SAME_TEXT.test(result.failure.description)) return DONE;
  return MESSAGE_GONE.test(result.failure.description) ? failed('message_gone', result.failure.description) : result;
}

function idsOf({ chatId }: Destination, messageId: number) {
  return { chat_id: chatId, message_id: messageId };
}

function address(to: Destination) {
  return { chat_id: to.chatId, ...(to.topicId !== undefined && { message_thread_id: to.topicId }) };
}
