import type { AllowedIds } from '../shared/config.ts';
import type { InboundMessage } from '../shared/message.ts';
import { graphemePrefix } from '../shared/text.ts';

/** Why an update was not accepted. Ignored updates are counted, never stored and never answered. */
export type IgnoreReason = 'not_allowed' | 'not_a_message' | 'from_a_bot' | 'service_message' | 'malformed';

/** What intake decided about one update. */
export type Intake = { accept: true; message: InboundMessage } | { accept: false; reason: IgnoreReason };

/** Kinds of content that a person sends and deserves an answer to, though this version cannot read them. */
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

interface RawMessage {
  message_id?: unknown;
  message_thread_id?: unknown;
  is_topic_message?: unknown;
  date?: unknown;
  text?: unknown;
  sender_chat?: unknown;
  from?: { id?: unknown; is_bot?: unknown; first_name?: unknown };
  chat?: { id?: unknown; type?: unknown; title?: unknown };
}

/**
 * Decides about one update: accept it as a message, or ignore it and say why. Pure, never throws, default deny: the
 * sender or the chat must be on the allow list by numeric id. Unknown fields are skipped, as Telegram adds some often.
 */
export function intake(update: unknown, allowed: AllowedIds, textMaxChars: number): Intake {
  const { update_id: updateId, message } = (update ?? {}) as { update_id?: unknown; message?: RawMessage };
  if (!isInteger(updateId)) return ignore('malformed');
  if (typeof message !== 'object' || message === null) return ignore('not_a_message');
  const { chat, from } = message;
  if (!isInteger(chat?.id) || !isInteger(from?.id) || !isInteger(message.message_id)) return ignore('malformed');
  if (!isAllowed(allowed, from.id, chat.id, message.sender_chat)) return ignore('not_allowed');
  if (from.is_bot === true && !isOnBehalfOfChat(message)) return ignore('from_a_bot');
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
      content,
    },
  };
}

/** An anonymous admin or a channel writes under its own chat's id; that id must be allowed, not a shared bot's. */
function isAllowed(allowed: AllowedIds, fromId: number, chatId: number, senderChat: unknown): boolean {
  if (allowed === 'everyone') return true;
  return allowed.has(chatId) || (senderChat === undefined && allowed.has(fromId));
}

/** Then `from` is a bot that Telegram lends to all such senders; a person wrote it all the same. */
function isOnBehalfOfChat({ sender_chat: senderChat }: RawMessage): boolean {
  return typeof senderChat === 'object' && senderChat !== null;
}

function topicOf({ is_topic_message: isTopic, message_thread_id: id }: RawMessage): number | undefined {
  return isTopic === true && isInteger(id) && id > 0 ? id : undefined;
}

/** A date in seconds that makes no exact number of milliseconds is none. */
function millisecondsOf(date: unknown): number {
  const ms = isInteger(date) ? date * 1000 : 0;
  return isInteger(ms) ? ms : 0;
}

function contentOf(message: RawMessage, textMaxChars: number): InboundMessage['content'] | undefined {
  const text = typeof message.text === 'string' ? wellFormed(message.text) : '';
  if (text.trim() !== '') return { kind: 'text', text: capped(text, textMaxChars) };
  const what = UNSUPPORTED.find((kind) => kind in message);
  return what === undefined ? undefined : { kind: 'unsupported', what };
}

/** A cap at the first write, once, with a marker that names the original length. Never cuts inside a character. */
function capped(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${graphemePrefix(text, maxChars)}\n[message cut: ${text.length} characters were sent]`;
}

/** Lone surrogates and NUL make a request body that no endpoint accepts. */
function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function chatType(type: unknown): InboundMessage['chatType'] {
  return type === 'group' || type === 'supergroup' || type === 'channel' ? type : 'private';
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function ignore(reason: IgnoreReason): Intake {
  return { accept: false, reason };
}
