import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundFile, InboundMessage } from '../../shared/flow/message.ts';
import { isInteger, type RawMessage, wellFormed } from './raw-message.ts';
import { inWords } from './read-kinds.ts';
import { richText } from './read-rich.ts';
import { SERVICE_FIELDS } from './service-fields.ts';

/** Kinds of content that people send and deserve an answer to, although this version cannot read them. */
const UNSUPPORTED = [
  'animation',
  'audio',
  'document',
  'game',
  'live_photo',
  'paid_media',
  'photo',
  'story',
  'video',
  'video_note',
  'voice',
] as const;

const NAME_CHARS = 128;
const FILE_ID_CHARS = 512;
/** Control characters, and those that reverse the text direction: `gpj.exe` must not read as `exe.jpg`. */
const INVISIBLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** What a message says or brings; `undefined` for a service message. Long texts are cut. Pure, never throws. */
export function contentOf(message: RawMessage, textMaxChars: number): InboundMessage['content'] | undefined {
  const text = writtenText(message.text);
  if (text !== '') return { kind: 'text', text: capped(text, textMaxChars) };
  const file = fileOf(message);
  if (file) return { kind: 'file', text: capped(writtenText(message.caption), textMaxChars), file };
  const described = inWords(message) ?? richText(message.rich_message);
  if (described !== '') return { kind: 'text', text: capped(described, textMaxChars) };
  const what = UNSUPPORTED.find((kind) => kind in message);
  if (what !== undefined) return { kind: 'unsupported', what };
  // A blank text is nothing to answer. What is neither that nor a service message is new to us, and somebody wrote it.
  const isNobodys = 'text' in message || SERVICE_FIELDS.some((field) => field in message);
  return isNobodys ? undefined : { kind: 'unsupported', what: 'unknown' };
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
