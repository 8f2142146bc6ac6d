import type { Change } from '../../shared/state/change.ts';
import type { PartMark, PartPlace } from '../../shared/state/turn/aspects.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { failed, isFinal, type TelegramFailure, type TelegramResult } from '../../shared/telegram/failure.ts';
import type { FileKind, SendOptions } from '../../shared/telegram/messages.ts';
import type { Env } from '../env.ts';
import type { Undelivered } from '../lane/verdict.ts';
import { type ImageHeader, isOpaqueStill, readImageHeader } from '../model/media-header.ts';
import type { Content, FileContent, PartSlot } from './plan.ts';

/** The result of one part. `unsure`: the part was repeated, and the result of the repeat is unknown. */
export type PartDelivery = { kind: 'confirmed' } | { kind: 'unsure' } | Undelivered;

export const CONFIRMED: PartDelivery = { kind: 'confirmed' };
export const UNSURE: PartDelivery = { kind: 'unsure' };

/** The delivery of a part by an earlier attempt; `undefined` if the part must still be sent. */
export function deliveredBefore(turn: Turn, at: PartPlace): PartDelivery | undefined {
  const mark = turn.reply.markOf(at);
  if (mark === 'sent') return CONFIRMED;
  return mark === 'unsure' ? UNSURE : undefined;
}

/** The delivery after a send that failed. */
export function notDelivered(failure: TelegramFailure): Undelivered {
  return { kind: isFinal(failure) ? 'undeliverable' : 'later', failure };
}

/** The options of a send. */
export interface Sending {
  /** An earlier write has already stored the mark `sending`. */
  isMarked?: boolean;
  /** The message makes no sound. */
  isSilent?: boolean;
  /** The part does not begin the answer, so in a group it is not sent as a reply to the question. */
  isFurther?: boolean;
  stopSignal?: AbortSignal | undefined;
}

/** The changes that store a mark for a part and for the other parts of its album. */
export function marksOf(turn: Turn, { index, count }: Pick<PartSlot, 'index' | 'count'>, mark: PartMark): Change[] {
  return Array.from({ length: count }, (_, at) => turn.reply.mark(index + at, mark));
}

/**
 * Stores the mark `sending`, unless it is stored already, then sends a message once. After a failure that certainly sent
 * nothing, restores the previous mark. So if a later attempt finds `sending`, the result of the send is unknown.
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
  const question = isFurther ? undefined : questionInGroup(turn);
  const replyTo = incidentMessage(turn) ?? question;
  const result = await send(turn, content, { isSilent, replyTo, buttons: content.buttons, stopSignal });
  if (!result.ok && result.failure.kind !== 'unknown') await turn.write('', markAll(before));
  return result;
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
  // The file is no longer stored, is damaged or is empty, so send only its caption or its name.
  if (bytes === undefined || bytes.length === 0) return telegram.sendMessage(destination, caption || name, options);
  const kind = fileKind(name, bytes);
  const file = { name, bytes, caption };
  const result = await telegram.sendFile(destination, { ...file, kind }, options);
  // If Telegram refuses a photo or audio, nothing was sent. Telegram may still accept the file as a document.
  const isRefused = !result.ok && result.failure.kind === 'rejected' && kind !== 'document';
  return isRefused ? telegram.sendFile(destination, file, options) : result;
}

/** Bot API: the files of one request may be as large as 50 MB in total. */
const ALBUM_BYTES_MAX = 45_000_000;

/** Sends an album. Fails as `rejected` if a picture is missing or the album is too large; the caller then splits the album. */
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

/** Telegram refuses photos with more bytes or a larger aspect ratio, and makes small text unreadable if a side is longer. */
const PHOTO_MAX = { bytes: 10_000_000, ratio: 20, sidePx: 2_560 };
const PHOTO_NAME = /\.(?:jpe?g|png|webp)$/i;
/** How a file begins in each audio format that Telegram plays, by extension. */
const AUDIO_BEGINS: ReadonlyMap<string, RegExp> = new Map([
  ['.mp3', /^(?:ID3|\xff[\xe2-\xff])/],
  ['.m4a', /^.{4}ftyp/s],
  ['.ogg', /^OggS/],
]);

/**
 * Whether to send a file as a photo, as audio or as a document; as a photo or audio only if its name and its first bytes agree.
 * A picture that Telegram would spoil is a document, too: Telegram converts a photo to JPEG, without motion and transparency, and
 * scales a large one down. Pure.
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

/** The alert message that the reply points to, if an operator pressed a button under that message. */
function incidentMessage({ message }: Turn): number | undefined {
  return message.ok && message.value.from.isOperator ? message.value.pressed : undefined;
}

/** The message to which a reply in a group points, to show who gets the answer. Undefined in private chats and summonses. */
function questionInGroup({ message, isElsewhere }: Turn): number | undefined {
  if (!message.ok || message.value.chatType === 'private' || isElsewhere) return undefined;
  return message.value.messageId;
}
