import type { Instruments } from '../../shared/base/instruments.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../shared/telegram/failure.ts';
import type { Button, Destination, SendOptions } from '../../shared/telegram/messages.ts';
import type { Attempt, Command, PartMark, PartPlace } from '../lane/attempt.ts';
import type { Entity } from './format/canvas.ts';
import type { RichBlock } from './format/rich.ts';

export interface OutboxPorts {
  telegram: Telegram;
  instruments: Pick<Instruments, 'telemetry' | 'reach'>;
  /** Loads the bytes of a file to send, by their SHA-256. Contract: rejects when Redis cannot be reached. */
  loadKept: (sha256: string) => Promise<Buffer | undefined>;
}

/** The result of a delivery, of a reply or of one part of it. */
export type Delivery =
  | { kind: 'delivered' }
  /** Not now: Telegram is unavailable or asks to wait. What was sent stays marked. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never: the chat is gone or Telegram refuses the text. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

export const DELIVERED: Delivery = { kind: 'delivered' };

/** What a send that failed means for the delivery. */
export function notDelivered(failure: TelegramFailure): Delivery {
  const isFinal = failure.kind === 'gone' || failure.kind === 'rejected';
  return { kind: isFinal ? 'undeliverable' : 'later', failure };
}

/** What a message shows. */
export type Content = {
  /** Rows of buttons under it. */
  buttons?: readonly (readonly Button[])[] | undefined;
} & (
  | { kind: 'text'; text: string; entities: readonly Entity[] }
  | { kind: 'rich'; blocks: readonly RichBlock[] }
  /** Either holds the text of the file, or names its bytes. */
  | { kind: 'file'; name: string; caption: string; text?: string; sha256?: string }
);

/** How a part is sent. */
export interface Sending {
  /** The mark was written before, with something else. */
  isMarked?: boolean;
  /** It arrives in silence, and is no reply of its own. */
  isSilent?: boolean;
}

/** Which part is sent, and whether it rings. */
export interface Place {
  index: number;
  isSilent: boolean;
}

/**
 * Sends a message once, marked before. Only a send whose result is unknown keeps its mark; any other failure certainly
 * sent nothing.
 */
export async function sendMarked(
  ports: Pick<OutboxPorts, 'telegram' | 'loadKept'>,
  attempt: Attempt,
  at: PartPlace,
  content: Content,
  to: Destination,
  { isMarked = false, isSilent = false }: Sending = {},
): Promise<TelegramResult<{ messageId: number }>> {
  const before = isMarked ? undefined : attempt.part(at);
  if (!isMarked) await attempt.write('', [markPart(attempt, at, before === 'sending' ? 'resent' : 'sending')]);
  const shown = isSilent ? { isSilent: true } : { replyTo: askedIn(attempt) };
  const sent = await send(ports, content, to, { ...shown, buttons: content.buttons });
  if (!sent.ok && sent.failure.kind !== 'unknown') await attempt.write('', [restoreMark(attempt, at, before)]);
  return sent;
}

async function send(
  { telegram, loadKept }: Pick<OutboxPorts, 'telegram' | 'loadKept'>,
  content: Content,
  to: Destination,
  options: Omit<SendOptions, 'entities'>,
): Promise<TelegramResult<{ messageId: number }>> {
  if (content.kind === 'rich') return telegram.sendRichMessage(to, content.blocks, options);
  if (content.kind === 'text')
    return telegram.sendMessage(to, content.text, { ...options, entities: content.entities });
  const { name, caption, text, sha256 = '' } = content;
  const bytes = text === undefined ? await loadKept(sha256) : Buffer.from(text);
  // Its time is over: what was said about it is all that can be sent.
  if (bytes === undefined || bytes.length === 0) return telegram.sendMessage(to, caption || name, options);
  return telegram.sendFile(to, { name, bytes, caption }, options);
}

/** The message that a reply in a group points to, so that everybody sees whom it answers. */
function askedIn({ message }: Attempt): number | undefined {
  return message.ok && message.value.chatType !== 'private' ? message.value.messageId : undefined;
}

/** The command that marks a place of a reply. */
export function markPart(attempt: Attempt, at: PartPlace, value: PartMark): Command {
  return ['HSET', attempt.keys.turn(attempt.entry), `part:${at}`, value];
}

function restoreMark(attempt: Attempt, at: PartPlace, before: PartMark | undefined): Command {
  if (before !== undefined) return markPart(attempt, at, before);
  return ['HDEL', attempt.keys.turn(attempt.entry), `part:${at}`];
}
