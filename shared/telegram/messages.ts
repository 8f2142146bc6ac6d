import type {
  InlineKeyboardMarkup,
  InputRichBlock,
  LinkPreviewOptions,
  Message,
  MessageEntity,
  ReplyParameters,
  SentGuestMessage,
} from '@grammyjs/types';
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

/** Where a text goes. */
export interface Destination {
  chatId: number;
  topicId?: number;
}

/** A button under a message. A press arrives as the command that it names, of 1 to 64 bytes. */
export interface Button {
  text: string;
  command: string;
  /** It deletes or declines something: apps show it in red. Servers before Bot API 9.4 ignore that. */
  destroys?: true;
}

/** A button that opens a page. */
export type Link = Readonly<{ text: string; url: string }>;

/** The methods that send a file, by its kind, which is also the field of the form that holds it. */
const FILE_METHODS = { photo: 'sendPhoto', audio: 'sendAudio', document: 'sendDocument' } as const;
/** How people see a file: as a picture, as something to play, or by its name. */
export type FileKind = keyof typeof FILE_METHODS;

/** A file to send. */
export interface OutboundFile {
  /** Not shown of a photo. */
  name: string;
  bytes: Buffer;
  /** By default a document. */
  kind?: FileKind;
  /** Shown under it, of at most 1024 UTF-16 units; empty for none. */
  caption: string;
}

/** How a message is sent. */
export interface SendOptions extends Timing {
  /** The message arrives without a sound. */
  isSilent?: boolean;
  /** What formats the text, by offsets in UTF-16 units. */
  entities?: MessageEntity[];
  /** The message that this one answers; if it was deleted, this one is sent all the same. */
  replyTo?: number | undefined;
  /** Rows of buttons under the message. */
  buttons?: readonly (readonly (Button | Link)[])[] | undefined;
}

/** The part of the Bot API that shows something in a chat. Contract: as `Telegram`. */
export interface Messages {
  /** Sends a text of 1 to 4096 UTF-16 units. */
  sendMessage(to: Destination, text: string, options?: SendOptions): Promise<TelegramResult<{ messageId: number }>>;
  /** Sends a rich message. Fails as `not_offered` on servers before Bot API 10.2, and then without a call for a day. */
  sendRichMessage(
    to: Destination,
    blocks: InputRichBlock<never>[],
    options?: Omit<SendOptions, 'entities'>,
  ): Promise<TelegramResult<{ messageId: number }>>;
  /** Sends a file, of 1 byte to 50 MB. What Telegram cannot show as its kind fails as `rejected`. */
  sendFile(
    to: Destination,
    file: OutboundFile,
    options?: Omit<SendOptions, 'entities'>,
  ): Promise<TelegramResult<{ messageId: number }>>;
  /** Sends 2 to 10 pictures as one album. Where Telegram cannot show one of them, all fail as `rejected`. */
  sendAlbum(
    to: Destination,
    photos: readonly Omit<OutboundFile, 'kind'>[],
    options?: Omit<SendOptions, 'entities' | 'buttons'>,
  ): Promise<TelegramResult<{ messageId: number }>>;
  /** Replaces the text and the buttons of a message of ours. An identical message is no failure. */
  editMessage(
    to: Destination,
    messageId: number,
    text: string,
    options?: Pick<SendOptions, 'entities' | 'buttons'> & Timing,
  ): Promise<TelegramResult<void>>;
  /**
   * Puts a text into a chat that the bot is not part of, in answer to a summons: once, and soon. Waits `timeoutMs` at most.
   * Returns the id by which it can be edited. Fails as `rejected` when the summons is too old or was answered, also where
   * this call itself did that and its reply was lost.
   */
  answerSummons(queryId: string, text: string, timeoutMs?: number): Promise<TelegramResult<{ inlineId: string }>>;
  /** Replaces a text that was put so. An identical one is no failure. */
  editSummoned(inlineId: string, text: string, entities?: MessageEntity[]): Promise<TelegramResult<void>>;
  /** Takes the buttons off a message of ours. A message without any is no failure. */
  removeButtons(to: Destination, messageId: number): Promise<TelegramResult<void>>;
  /** Deletes a message of ours. One that is gone is no failure. */
  deleteMessage(to: Destination, messageId: number): Promise<TelegramResult<void>>;
  /** Ends the wait after a press, with at most 200 characters for that person alone. One that is too old is no failure. */
  answerPress(pressId: string, words?: string): Promise<TelegramResult<void>>;
  /**
   * Shows 1 to 4096 UTF-16 units as a draft in a private chat, in place of an earlier draft of that id (never 0); it
   * vanishes after 30 seconds. Fails as `not_offered` on servers before Bot API 9.5.
   */
  sendDraft(to: Destination, draftId: number, text: string, entities?: MessageEntity[]): Promise<TelegramResult<void>>;
  /** Shows a typing indicator for 5 seconds. Fails like a message would, and leaves nothing in the chat. */
  sendTyping(to: Destination): Promise<TelegramResult<void>>;
}

/** A reply waits for a draft that is in flight. */
const DRAFT_TIMEOUT_MS = 3_000;
const NO_TOPIC = /message thread not found|TOPIC_(?:DELETED|CLOSED|ID_INVALID)/i;
const SAME_TEXT = /message is not modified/i;
const MESSAGE_GONE = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i;
const ALREADY_DELETED = /message to delete not found|MESSAGE_ID_INVALID/i;
const PRESS_TOO_OLD = /query is too old|query ID is invalid/i;
/** A file of 50 MB takes a slow line longer than a text. */
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
 * The messages of a bot, over its calls. Without `linkPreviews` Telegram is told with each text to make none: its servers
 * fetch a previewed page at once, so that an address made up by a model would carry words out before anybody reads it.
 */
export function messagesOver(call: CallMethod, upload: UploadFiles, linkPreviews: boolean): Messages {
  const previews: Previews = linkPreviews ? {} : { link_preview_options: { is_disabled: true } };
  let richMissingUntilMs = 0;
  return {
    async sendMessage(to, text, options = {}) {
      const said = { text, ...previews, ...formatted(options), ...arrival(options) };
      return sentMessage(await inTopic(to, (place) => call('sendMessage', { ...place, ...said }, CALL_TIMEOUT_MS)));
    },
    async sendRichMessage(to, blocks, options = {}) {
      if (Date.now() < richMissingUntilMs) return failed('not_offered', 'the server has no rich messages');
      // Else Telegram makes links of amounts, paths and numbers.
      const payload = { rich_message: { blocks, skip_entity_detection: true }, ...previews, ...arrival(options) };
      const sent = await inTopic(to, (place) => call('sendRichMessage', { ...place, ...payload }, CALL_TIMEOUT_MS));
      const isMissing = !sent.ok && METHOD_MISSING.test(sent.failure.description);
      if (isMissing) richMissingUntilMs = Date.now() + MISSING_MS;
      return sentMessage(unlessMissing(sent));
    },
    async sendFile(to, { name, bytes, caption, kind = 'document' }, options = {}) {
      const fields = { ...(caption !== '' && { caption }), ...arrival(options) };
      const files = [{ field: kind, name, bytes }];
      const sendTo = (place: ReturnType<typeof address>) =>
        upload(FILE_METHODS[kind], { ...place, ...fields }, files, UPLOAD_TIMEOUT_MS);
      return sentMessage(await inTopic(to, sendTo));
    },
    async sendAlbum(to, photos, options = {}) {
      const { media, files } = albumOf(photos);
      const sent = await inTopic(to, (place) =>
        upload('sendMediaGroup', { ...place, media, ...arrival(options) }, files, UPLOAD_TIMEOUT_MS),
      );
      return sentMessage(firstOf(sent, photos.length));
    },
    async editMessage(to, messageId, text, options = {}) {
      const payload = { ...own(to, messageId), text, ...previews, ...formatted(options), ...keyboard(options) };
      return changed(await call('editMessageText', payload, CALL_TIMEOUT_MS));
    },
    ...inForeignChats(call, previews),
    async removeButtons(to, messageId) {
      return changed(await call('editMessageReplyMarkup', own(to, messageId), CALL_TIMEOUT_MS));
    },
    async deleteMessage(to, messageId) {
      const deleted = await call('deleteMessage', own(to, messageId), CALL_TIMEOUT_MS);
      return !deleted.ok && ALREADY_DELETED.test(deleted.failure.description) ? DONE : withoutValue(deleted);
    },
    async answerPress(pressId, words) {
      const payload = { callback_query_id: pressId, ...(words !== undefined && { text: words, show_alert: true }) };
      const answered = await call('answerCallbackQuery', payload, CALL_TIMEOUT_MS);
      return !answered.ok && PRESS_TOO_OLD.test(answered.failure.description) ? DONE : withoutValue(answered);
    },
    async sendDraft(to, draftId, text, entities = []) {
      // A draft locks the composer of some apps, so its button is the only way to stop. The words come as a message.
      const stopping = { can_stop: true, keep_on_stop: true };
      const shown = { text, ...previews, ...formatted({ entities }) };
      const payload = { ...address(to), draft_id: draftId, ...shown, ...stopping };
      return ofOptional(await call('sendMessageDraft', payload, DRAFT_TIMEOUT_MS));
    },
    async sendTyping(to) {
      return withoutValue(await call('sendChatAction', { ...address(to), action: 'typing' }, CALL_TIMEOUT_MS));
    },
  };
}

type Previews = { link_preview_options?: LinkPreviewOptions };

/** What goes through no chat of the bot's own. */
function inForeignChats(call: CallMethod, previews: Previews): Pick<Messages, 'answerSummons' | 'editSummoned'> {
  return {
    async answerSummons(queryId, text, timeoutMs = CALL_TIMEOUT_MS) {
      const input_message_content = { message_text: text, ...previews };
      const result = { type: 'article' as const, id: 'answer', title: 'Answer', input_message_content };
      const answered = await call('answerGuestQuery', { guest_query_id: queryId, result }, timeoutMs);
      // A server that does not know the method will never take an answer.
      const isNever = !answered.ok && METHOD_MISSING.test(answered.failure.description);
      if (!answered.ok) return isNever ? failed('rejected', answered.failure.description) : answered;
      const { inline_message_id: inlineId } = (answered.value ?? {}) as Unchecked<SentGuestMessage>;
      if (typeof inlineId !== 'string') return failed('unknown', 'an answer to a summons that names no message');
      return { ok: true, value: { inlineId } };
    },
    async editSummoned(inlineId, text, entities = []) {
      const payload = { inline_message_id: inlineId, text, ...previews, ...formatted({ entities }) };
      return changed(await call('editMessageText', payload, CALL_TIMEOUT_MS));
    },
  };
}

/** Sends to a topic, and to its chat where the topic is gone: then nothing was sent, and the chat is still there. */
async function inTopic(
  to: Destination,
  send: (place: ReturnType<typeof address>) => Promise<TelegramResult<unknown>>,
): Promise<TelegramResult<unknown>> {
  const sent = await send(address(to));
  const isGone = !sent.ok && to.topicId !== undefined && NO_TOPIC.test(sent.failure.description);
  return isGone ? send(address({ chatId: to.chatId })) : sent;
}

/** An album in a form: each photo is named by its field. */
function albumOf(photos: readonly Omit<OutboundFile, 'kind'>[]) {
  return {
    files: photos.map(({ name, bytes }, at): FormFile => ({ field: `photo${at}`, name, bytes })),
    media: photos.map(({ caption }, at) => {
      return { type: 'photo' as const, media: `attach://photo${at}`, ...(caption !== '' && { caption }) };
    }),
  };
}

/** The first of so many messages that were sent together; an answer that names not all of them says nothing. */
function firstOf(sent: TelegramResult<unknown>, count: number): TelegramResult<unknown> {
  if (!sent.ok) return sent;
  const messages = Array.isArray(sent.value) ? (sent.value as unknown[]) : [];
  return { ok: true, value: messages.length === count ? messages[0] : undefined };
}

function sentMessage(sent: TelegramResult<unknown>): TelegramResult<{ messageId: number }> {
  if (!sent.ok) return sent;
  const { message_id: messageId } = (sent.value ?? {}) as Unchecked<Message>;
  if (typeof messageId !== 'number') return failed('unknown', 'an answer to a send that names no message');
  return { ok: true, value: { messageId } };
}

function formatted({ entities = [] }: SendOptions) {
  return entities.length > 0 ? { entities } : {};
}

function keyboard({ buttons = [] }: SendOptions) {
  const keyOf = (button: Button | Link) =>
    'url' in button
      ? { text: button.text, url: button.url }
      : { text: button.text, callback_data: button.command, ...(button.destroys && { style: 'danger' as const }) };
  const rows = buttons.map((row) => row.map(keyOf));
  const markup: InlineKeyboardMarkup = { inline_keyboard: rows };
  return rows.length > 0 ? { reply_markup: markup } : {};
}

/** What belongs to a new message, and not to an edit. */
function arrival({ isSilent, replyTo, buttons }: SendOptions) {
  const answers = (id: number): ReplyParameters => ({ message_id: id, allow_sending_without_reply: true });
  return {
    ...keyboard({ buttons }),
    ...(isSilent && { disable_notification: true }),
    ...(replyTo !== undefined && { reply_parameters: answers(replyTo) }),
  };
}

/** The result of changing a message of ours. */
function changed(result: TelegramResult<unknown>): TelegramResult<void> {
  if (result.ok || SAME_TEXT.test(result.failure.description)) return DONE;
  const isGone = MESSAGE_GONE.test(result.failure.description);
  return isGone ? failed('message_gone', result.failure.description) : result;
}

function own({ chatId }: Destination, messageId: number) {
  return { chat_id: chatId, message_id: messageId };
}

function address(to: Destination) {
  return { chat_id: to.chatId, ...(to.topicId !== undefined && { message_thread_id: to.topicId }) };
}
