import type { MessageEntity } from '@grammyjs/types';
import type { Observability } from '../../shared/base/observability.ts';
import type { BreakerView } from '../../shared/telegram/breaker.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../shared/telegram/failure.ts';
import type { Button, Destination, SendOptions } from '../../shared/telegram/messages.ts';
import type { Attempt, PartMark, PartPlace } from '../lane/attempt.ts';
import type { RichBlock } from './format/rich.ts';

export interface OutboxPorts {
  telegram: Telegram;
  observability: Pick<Observability, 'telemetry' | 'reach'>;
  breaker: Pick<BreakerView, 'answersNow' | 'confirmedMs' | 'awayMs'>;
  /** Loads the bytes of a file to send, by their SHA-256. Contract: rejects when Redis cannot be reached. */
  loadKept: (sha256: string) => Promise<Buffer | undefined>;
}

/** A part that does not stand in its chat, as far as is known. */
export type Undelivered =
  /** Not now: Telegram is away or asks to wait. What was sent stays marked. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never, in Telegram's own word: the chat is gone or it refuses the text. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

/** The result of one part. `unsure`: it was repeated, and Telegram, which confirmed other messages, did not say. */
export type PartDelivery = { kind: 'confirmed' } | { kind: 'unsure' } | Undelivered;

export const CONFIRMED: PartDelivery = { kind: 'confirmed' };
export const UNSURE: PartDelivery = { kind: 'unsure' };

/** The delivery of a part as known before anything is sent; `undefined` while it has to be sent. */
export function deliveredBefore(attempt: Attempt, at: PartPlace): PartDelivery | undefined {
  const mark = attempt.part(at);
  if (mark === 'sent') return CONFIRMED;
  return mark === 'unsure' ? UNSURE : undefined;
}

/** The delivery after a send that failed. */
export function notDelivered(failure: TelegramFailure): Undelivered {
  const isFinal = failure.kind === 'gone' || failure.kind === 'rejected';
  return { kind: isFinal ? 'undeliverable' : 'later', failure };
}

/** The content of a message. */
export type Content = {
  /** Rows of buttons under it. */
  buttons?: readonly (readonly Button[])[] | undefined;
} & (
  | { kind: 'text'; text: string; entities: MessageEntity[] }
  | { kind: 'rich'; blocks: RichBlock[] }
  /** Either holds the text of the file, or names its bytes. */
  | { kind: 'file'; name: string; caption: string; text?: string; sha256?: string }
);

/** A file of a reply: it is sent in its place, like a message. Plain JSON, stored with the conclusion. */
export interface FilePart {
  readonly path: 'file';
  readonly name: string;
  /** Its content, for a text; otherwise `sha256` names its bytes among the kept ones. */
  readonly text?: string;
  readonly sha256?: string;
}

/** How a part is sent. */
export interface Sending {
  /** The mark was written before, with something else. */
  isMarked?: boolean;
  /** It arrives in silence, and is no reply of its own. */
  isSilent?: boolean;
  /** The mark before it is sent. */
  mark?: PartMark;
}

/** Which part is sent, and whether it rings. */
export interface PartSlot {
  index: number;
  isSilent: boolean;
}

/**
 * Sends a message once, marked before with the time. Only a send whose result is unknown keeps its mark; any other
 * failure certainly sent nothing.
 */
export async function sendMarked(
  ports: Pick<OutboxPorts, 'telegram' | 'loadKept'>,
  attempt: Attempt,
  at: PartPlace,
  content: Content,
  to: Destination,
  { isMarked = false, isSilent = false, mark = 'sending' }: Sending = {},
): Promise<TelegramResult<{ messageId: number }>> {
  const { reply } = attempt.turn;
  const before = isMarked ? undefined : attempt.part(at);
  if (!isMarked) await attempt.write('', [reply.mark(at, mark), reply.send(at, attempt.nowMs())]);
  const shown = isSilent ? { isSilent: true } : { replyTo: askedIn(attempt) };
  const sent = await send(ports, content, to, { ...shown, buttons: content.buttons });
  if (!sent.ok && sent.failure.kind !== 'unknown') await attempt.write('', [reply.mark(at, before)]);
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
