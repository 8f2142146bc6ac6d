import type { AllowedIds } from '../../shared/base/config.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundFile, InboundMessage } from '../../shared/flow/message.ts';
import { addresseeOf } from '../../shared/telegram/commands.ts';

/** Why an update was not accepted. Ignored updates are counted, never stored and never answered. */
export type IgnoreReason =
  | 'not_allowed'
  | 'not_a_message'
  | 'from_a_bot'
  | 'for_another_bot'
  | 'service_message'
  | 'malformed';

/** The decision about one update. */
export type UpdateReading = { accept: true; message: InboundMessage } | { accept: false; reason: IgnoreReason };

/** Kinds of content that people send and deserve an answer to, although this version cannot read them. */
const UNSUPPORTED = [
  'animation',
  'audio',
  'contact',
  'dice',
  'document',
  'game',
  'location',
  'paid_media',
  'photo',
  'poll',
  'sticker',
  'story',
  'venue',
  'video',
  'video_note',
  'voice',
] as const;

const NAME_CHARS = 128;
const FILE_ID_CHARS = 512;
const ALBUM_CHARS = 64;
/** Control characters, and those that reverse the text direction: `gpj.exe` must not read as `exe.jpg`. */
const INVISIBLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

interface RawMessage {
  message_id?: unknown;
  message_thread_id?: unknown;
  is_topic_message?: unknown;
  date?: unknown;
  text?: unknown;
  caption?: unknown;
  photo?: unknown;
  document?: unknown;
  sender_chat?: unknown;
  media_group_id?: unknown;
  from?: { id?: unknown; is_bot?: unknown; first_name?: unknown };
  chat?: { id?: unknown; type?: unknown; title?: unknown };
}

/**
 * Decides about one update: accepts it as a message, or ignores it and says why. Pure, never throws, default deny: the
 * sender or the chat must be on the allow list by numeric id. Unknown fields are skipped, because Telegram adds some
 * often. A command in a group that names a bot other than `ownName` is for that bot; without `ownName`, all commands
 * are for us.
 */
export function readUpdate(
  update: unknown,
  allowed: AllowedIds,
  textMaxChars: number,
  ownName?: string,
): UpdateReading {
  const { update_id: updateId, message } = (update ?? {}) as { update_id?: unknown; message?: RawMessage };
  if (!isInteger(updateId)) return ignore('malformed');
  if (typeof message !== 'object' || message === null) return ignore('not_a_message');
  const { chat, from } = message;
  if (!isInteger(chat?.id) || !isInteger(from?.id) || !isInteger(message.message_id)) return ignore('malformed');
  if (!isAllowed(allowed, from.id, chat.id, message.sender_chat)) return ignore('not_allowed');
  if (from.is_bot === true && !isOnBehalfOfChat(message)) return ignore('from_a_bot');
  if (isForAnother(message, ownName)) return ignore('for_another_bot');
  const content = contentOf(message, textMaxChars);
  if (content === undefined) return ignore('service_message');
  const topicId = topicOf(message);
  return {
    accept: true,
    message: {
      v: 1,
      updateId,
      chatId: chat.id,
      ...(topicId !== undefined && { topicId }),
      chatType: chatType(chat.type),
      ...(typeof chat.title === 'string' && { chatTitle: graphemePrefix(wellFormed(chat.title), 128) }),
      messageId: message.message_id,
      from: {
        id: from.id,
        ...(typeof from.first_name === 'string' && { name: graphemePrefix(wellFormed(from.first_name), 64) }),
      },
      sentAtMs: millisecondsOf(message.date),
      ...albumOf(message),
      content,
    },
  };
}

/** An anonymous admin or a channel writes under its own chat's id. Allow that id, not that of the shared bot. */
function isAllowed(allowed: AllowedIds, fromId: number, chatId: number, senderChat: unknown): boolean {
  if (allowed === 'everyone') return true;
  return allowed.has(chatId) || (senderChat === undefined && allowed.has(fromId));
}

/** Telegram then puts a bot that it lends to all such senders into `from`; a person wrote the message all the same. */
function isOnBehalfOfChat({ sender_chat: senderChat }: RawMessage): boolean {
  return typeof senderChat === 'object' && senderChat !== null;
}

/** A private chat has no other bot. */
function isForAnother({ text, chat }: RawMessage, ownName: string | undefined): boolean {
  const addressee = typeof text === 'string' && chat?.type !== 'private' ? addresseeOf(text) : undefined;
  if (addressee === undefined || ownName === undefined) return false;
  return addressee.toLowerCase() !== ownName.toLowerCase();
}

function topicOf({ is_topic_message: isTopic, message_thread_id: id }: RawMessage): number | undefined {
  return isTopic === true && isInteger(id) && id > 0 ? id : undefined;
}

function albumOf({ media_group_id: id }: RawMessage): { album?: string } {
  return typeof id === 'string' && id !== '' && id.length <= ALBUM_CHARS && id === wellFormed(id) ? { album: id } : {};
}

/** A date that does not convert to an exact number of milliseconds counts as absent. */
function millisecondsOf(date: unknown): number {
  const ms = isInteger(date) ? date * 1000 : 0;
  return isInteger(ms) ? ms : 0;
}

function contentOf(message: RawMessage, textMaxChars: number): InboundMessage['content'] | undefined {
  const text = writtenText(message.text);
  if (text !== '') return { kind: 'text', text: capped(text, textMaxChars) };
  const file = fileOf(message);
  if (file) return { kind: 'file', text: capped(writtenText(message.caption), textMaxChars), file };
  const what = UNSUPPORTED.find((kind) => kind in message);
  return what === undefined ? undefined : { kind: 'unsupported', what };
}

/** Blank text counts as absent. */
function writtenText(text: unknown): string {
  const written = typeof text === 'string' ? wellFormed(text) : '';
  return written.trim() === '' ? '' : written;
}

/** Only its bytes show what kind of file it is, so a document is accepted whatever type its sender states. */
function fileOf(message: RawMessage): InboundFile | undefined {
  // Telegram also sends an animation as a document, for old bots.
  if ('animation' in message) return undefined;
  const photo = largestPhoto(message.photo);
  if (photo) return { what: 'photo', fileId: photo.fileId, ...statedSize(photo.bytes) };
  const { document } = message;
  if (!hasFileId(document)) return undefined;
  const { file_id: fileId, file_name: fileName, file_size: bytes, mime_type: mediaType } = document;
  const name = typeof fileName === 'string' ? plainName(fileName) : '';
  return {
    what: 'document',
    fileId,
    ...(name !== '' && { name }),
    ...(typeof mediaType === 'string' && { mediaType: graphemePrefix(wellFormed(mediaType), NAME_CHARS) }),
    ...statedSize(bytes),
  };
}

/** Telegram offers a photo in several sizes. */
function largestPhoto(sizes: unknown): { fileId: string; bytes: unknown } | undefined {
  if (!Array.isArray(sizes)) return undefined;
  const [largest] = sizes
    .filter(hasFileId)
    .map(({ file_id: fileId, width, height, file_size: bytes }) => ({
      fileId,
      area: count(width) * count(height),
      bytes,
    }))
    .sort((a, b) => b.area - a.area || count(b.bytes) - count(a.bytes));
  return largest;
}

type RawFile = { file_id: string } & Partial<Record<string, unknown>>;

function hasFileId(file: unknown): file is RawFile {
  const { file_id: id } = (file ?? {}) as Partial<RawFile>;
  return typeof id === 'string' && id !== '' && id.length <= FILE_ID_CHARS && id === wellFormed(id);
}

function statedSize(bytes: unknown): { bytes?: number } {
  return isInteger(bytes) && bytes > 0 ? { bytes } : {};
}

function count(value: unknown): number {
  return isInteger(value) && value > 0 ? value : 0;
}

/** The name on one line, without any folder. */
function plainName(name: string): string {
  return graphemePrefix(wellFormed(name).replaceAll(INVISIBLE, '').replaceAll(/[/\\]/g, '').trim(), NAME_CHARS);
}

/**
 * Caps a text once, at the first write, with a marker that states the original length. Never cuts inside a character.
 */
function capped(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${graphemePrefix(text, maxChars)}\n[message cut: ${text.length} characters were sent]`;
}

/** No endpoint accepts a request body with lone surrogates or NUL. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function chatType(type: unknown): InboundMessage['chatType'] {
  return type === 'group' || type === 'supergroup' || type === 'channel' ? type : 'private';
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function ignore(reason: IgnoreReason): UpdateReading {
  return { accept: false, reason };
}
