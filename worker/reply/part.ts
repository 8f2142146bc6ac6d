import type { Change } from '../../shared/state/change.ts';
import type { PartMark, PartPlace } from '../../shared/state/turn/aspects.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { failed, isFinal, type TelegramFailure, type TelegramResult } from '../../shared/telegram/failure.ts';
import type { FileKind, SendOptions } from '../../shared/telegram/messages.ts';
import type { Env } from '../env.ts';
import type { Undelivered } from '../lane/verdict.ts';
import { type ImageHeader, isOpaqueStill, readImageHeader } from '../model/media-header.ts';
import type { Content, FileContent, PartSlot } from './plan.ts';

/** The result of one part. `unsure`: it was repeated, and Telegram did not say whether it took the repeat. */
export type PartDelivery = { kind: 'confirmed' } | { kind: 'unsure' } | Undelivered;

export const CONFIRMED: PartDelivery = { kind: 'confirmed' };
export const UNSURE: PartDelivery = { kind: 'unsure' };

/** The delivery of a part as known before anything is sent; `undefined` while it has to be sent. */
export function deliveredBefore(turn: Turn, at: PartPlace): PartDelivery | undefined {
  const mark = turn.reply.markOf(at);
  if (mark === 'sent') return CONFIRMED;
  return mark === 'unsure' ? UNSURE : undefined;
}

/** The delivery after a send that failed. */
export function notDelivered(failure: TelegramFailure): Undelivered {
  return { kind: isFinal(failure) ? 'undeliverable' : 'later', failure };
}

/** How a part is sent. */
export interface Sending {
  /** The mark was written before, with something else. */
  isMarked?: boolean;
  /** It arrives in silence. */
  isSilent?: boolean;
  /** It is not the beginning of the answer, so it points to no message. */
  isFurther?: boolean;
  stopSignal?: AbortSignal | undefined;
}

/** The marks of a part, and of those that stand in the same album. */
export function marksOf(turn: Turn, { index, count }: Pick<PartSlot, 'index' | 'count'>, mark: PartMark): Change[] {
  return Array.from({ length: count }, (_, at) => turn.reply.mark(index + at, mark));
}

/**
 * Sends a message once, marked before. Only a send whose result is unknown keeps its mark; any other
 * failure certainly sent nothing.
 */
export async function sendMarked(
  turn: Turn<Env>,
  at: PartPlace,
  content: Content,
  { isMarked = false, isSilent = false, isFurther = false, stopSignal }: Sending = {},
): Promise<TelegramResult<{ messageId: number }>> {
  const { reply } = turn;
  const before = isMarked ? undefined : turn.reply.markOf(at);
  const places = content.kind === 'album' && typeof at === 'number' ? content.files.map((_, next) => at + next) : [at];
  const markAll = (as: PartMark | undefined) => places.map((place) => reply.mark(place, as));
  if (!isMarked) await turn.write('', markAll('sending'));
  const answered = isFurther ? undefined : askedIn(turn);
  const replyTo = pressedByOperator(turn) ?? answered;
  const sent = await send(turn, content, { isSilent, replyTo, buttons: content.buttons, stopSignal });
  if (!sent.ok && sent.failure.kind !== 'unknown') await turn.write('', markAll(before));
  return sent;
}

async function send(
  turn: Turn<Env>,
  content: Content,
  options: Omit<SendOptions, 'entities'>,
): Promise<TelegramResult<{ messageId: number }>> {
  const { destination, env } = turn;
  const { telegram, media } = env;
  if (content.kind === 'rich') return telegram.sendRichMessage(destination, content.blocks, options);
  if (content.kind === 'text')
    return telegram.sendMessage(destination, content.text, { ...options, entities: content.entities });
  if (content.kind === 'album') return sendAlbum(turn, content.files, options);
  const { name, caption, text, sha256 = '' } = content;
  const bytes = text === undefined ? await media.read(turn.currentChat, sha256) : Buffer.from(text);
  // Its time is over: what was said about it is all that can be sent.
  if (bytes === undefined || bytes.length === 0) return telegram.sendMessage(destination, caption || name, options);
  const kind = fileKind(name, bytes);
  const file = { name, bytes, caption };
  const sent = await telegram.sendFile(destination, { ...file, kind }, options);
  // Refused, so certainly not sent: a document is taken as it is.
  const isRefused = !sent.ok && sent.failure.kind === 'rejected' && kind !== 'document';
  return isRefused ? telegram.sendFile(destination, file, options) : sent;
}

/** A form of the Bot API takes 50 MB in all. */
const ALBUM_BYTES_MAX = 45_000_000;

/** An album that cannot be whole is refused here: its pictures are then sent one by one, as far as they are there. */
async function sendAlbum(
  { currentChat, destination, env: { telegram, media } }: Turn<Env>,
  files: readonly FileContent[],
  options: Omit<SendOptions, 'entities'>,
): Promise<TelegramResult<{ messageId: number }>> {
  const all = await Promise.all(files.map(({ sha256 = '' }) => media.read(currentChat, sha256)));
  const photos = files.flatMap(({ name, caption }, at) => {
    const bytes = all[at];
    return bytes === undefined || bytes.length === 0 ? [] : [{ name, caption, bytes }];
  });
  const isTooLarge = photos.reduce((sum, { bytes }) => sum + bytes.length, 0) > ALBUM_BYTES_MAX;
  if (photos.length < files.length || isTooLarge) return failed('rejected', 'pictures that cannot be one album');
  return telegram.sendAlbum(destination, photos, options);
}

/** Telegram refuses a larger or longer photo. One with a longer side it scales down, and small text in it is lost. */
const PHOTO_MAX = { bytes: 10_000_000, ratio: 20, sidePx: 2_560 };
const PHOTO_NAME = /\.(?:jpe?g|png|webp)$/i;
/** How the kinds of audio begin that Telegram plays, by extension. */
const AUDIO_BEGINS: ReadonlyMap<string, RegExp> = new Map([
  ['.mp3', /^(?:ID3|\xff[\xe2-\xff])/],
  ['.m4a', /^.{4}ftyp/s],
  ['.ogg', /^OggS/],
]);

/**
 * How a file is shown: as a photo or as audio only where both its name and its first bytes say so, and where Telegram
 * shows it unspoilt. It makes a JPEG of a photo, without motion and transparency. Pure.
 */
export function fileKind(name: string, bytes: Buffer): FileKind {
  const extension = name.slice(name.lastIndexOf('.')).toLowerCase();
  if (AUDIO_BEGINS.get(extension)?.test(bytes.toString('latin1', 0, 8))) return 'audio';
  const { width = 0, height = 0 }: Partial<ImageHeader> = readImageHeader(bytes) ?? {};
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const isWithin =
    bytes.length <= PHOTO_MAX.bytes && long <= PHOTO_MAX.sidePx && short > 0 && long / short <= PHOTO_MAX.ratio;
  return PHOTO_NAME.test(name) && isWithin && isOpaqueStill(bytes) ? 'photo' : 'document';
}

/** The message about an incident whose button an operator pressed: the reply points to it. */
function pressedByOperator({ message }: Turn): number | undefined {
  return message.ok && message.value.from.isOperator ? message.value.pressed : undefined;
}

/** The message that a reply in a group points to, so that everybody sees whom it answers. */
function askedIn({ message, isElsewhere }: Turn): number | undefined {
  if (!message.ok || message.value.chatType === 'private' || isElsewhere) return undefined;
  return message.value.messageId;
}
