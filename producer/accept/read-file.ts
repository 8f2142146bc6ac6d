import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundFile, Sound } from '../../shared/flow/message.ts';
import { isInteger, type RawMessage, wellFormed } from './raw-message.ts';

type Fields = Record<string, unknown>;
type RawFile = { file_id: string } & Partial<Fields>;

const NAME_CHARS = 128;
const FILE_ID_CHARS = 512;
/** Control characters, and those that reverse the text direction: `gpj.exe` must not read as `exe.jpg`. */
const INVISIBLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
/** Moving pictures, of which the model can see the thumbnail alone. */
export const MOVING = ['animation', 'video', 'video_note'] as const;

/**
 * The photo or the file of a message; of a video its thumbnail. Only its bytes show what kind of file it is, so a
 * document is accepted whatever type its sender states. Pure, never throws.
 */
export function fileOf(message: RawMessage): InboundFile | undefined {
  // Telegram also sends an animation as a document, for old bots.
  const moving = MOVING.find((kind) => kind in message);
  if (moving !== undefined) return thumbnailOf(moving, (message as Fields)[moving]);
  const photo = largestPhoto(message.photo);
  if (photo) return { what: 'photo', fileId: photo.fileId, ...statedSize(photo.bytes) };
  const { document } = message;
  if (!hasFileId(document)) return undefined;
  const { file_id: fileId, file_size: bytes, mime_type: mediaType } = document;
  return {
    what: 'document',
    fileId,
    ...nameOf(document),
    ...(typeof mediaType === 'string' && { mediaType: graphemePrefix(wellFormed(mediaType), NAME_CHARS) }),
    ...statedSize(bytes),
  };
}

/** The name that a sender's app gave to a file, on one line and without any folder. */
export function nameOf({ file_name: fileName }: Fields): { name?: string } {
  if (typeof fileName !== 'string') return {};
  const plain = wellFormed(fileName).replaceAll(INVISIBLE, '').replaceAll(/[/\\]/g, '').trim();
  const name = graphemePrefix(plain, NAME_CHARS);
  return name === '' ? {} : { name };
}

/** How long something lasts, where its sender's app says so. */
export function lengthOf({ duration }: Fields): { seconds?: number } {
  return isInteger(duration) && duration > 0 ? { seconds: duration } : {};
}

/** Whether Telegram stores something for us under an id that can be kept. */
function hasFileId(file: unknown): file is RawFile {
  const { file_id: id } = (file ?? {}) as Partial<RawFile>;
  return typeof id === 'string' && id !== '' && id.length <= FILE_ID_CHARS && id === wellFormed(id);
}

/** A size that is stated and possible. */
function statedSize(bytes: unknown): { bytes?: number } {
  return isInteger(bytes) && bytes > 0 ? { bytes } : {};
}

function thumbnailOf(what: string, moving: unknown): InboundFile | undefined {
  if (!isFields(moving) || !hasFileId(moving.thumbnail)) return undefined;
  const { file_id: fileId, file_size: bytes } = moving.thumbnail;
  return {
    what: 'photo',
    fileId,
    ...statedSize(bytes),
    thumbnailOf: { what, ...lengthOf(moving), ...nameOf(moving) },
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

function count(value: unknown): number {
  return isInteger(value) && value > 0 ? value : 0;
}

const SPOKEN = ['voice', 'audio', 'video_note'] as const;
const TYPE_CHARS = 128;

/** What may be heard in a message: a voice message, an audio file, a video note. Pure, never throws. */
export function soundOf(message: RawMessage): { what: string; sound: Sound } | undefined {
  const fields = message as Record<string, unknown>;
  const what = SPOKEN.find((kind) => kind in message);
  if (what === undefined) return undefined;
  const spoken = fields[what];
  if (!hasFileId(spoken)) return undefined;
  const { file_id: fileId, file_size: bytes, mime_type: mediaType } = spoken;
  const type = typeof mediaType === 'string' ? graphemePrefix(wellFormed(mediaType), TYPE_CHARS) : '';
  const stated = { ...nameOf(spoken), ...(type !== '' && { mediaType: type }), ...statedSize(bytes) };
  return { what, sound: { fileId, ...stated, ...lengthOf(spoken) } };
}
