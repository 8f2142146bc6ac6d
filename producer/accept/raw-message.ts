import type { Audio, Chat, Document, Location, Message, PhotoSize, User, Video, Voice } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundFile, Sound } from '../../shared/flow/message.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';

/** A message as Telegram delivers it. Nothing of it is checked yet. */
export type RawMessage = Omit<Unchecked<Message>, 'from' | 'chat'> & {
  from?: Unchecked<User>;
  chat?: Unchecked<Chat>;
};

/** No endpoint accepts a request body with lone surrogates or NUL. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

const LINE_CHARS = 300;

/** A text on one line, of a bounded length; empty for anything else. */
export function lineOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  return graphemePrefix(
    wellFormed(value)
      .replace(/[\s\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ')
      .trim(),
    LINE_CHARS,
  );
}

type Fields = Record<string, unknown>;
type RawFile = { file_id: string } & Omit<Unchecked<Document | PhotoSize | Video | Voice>, 'file_id'>;

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
  if (moving !== undefined) return thumbnailOf(moving, message[moving]);
  const photo = largestPhoto(message.photo);
  if (photo) return { what: 'photo', fileId: photo.fileId, ...statedSize(photo.bytes) };
  const { document } = message;
  return hasFileId(document) ? { what: 'document', fileId: document.file_id, ...statedOf(document) } : undefined;
}

/** The name, type and size that a sender's app states. */
function statedOf(file: RawFile): Pick<Sound, 'name' | 'mediaType' | 'bytes'> {
  const { file_size: bytes, mime_type: mediaType } = file as Unchecked<Document>;
  const type = typeof mediaType === 'string' ? graphemePrefix(wellFormed(mediaType), TYPE_CHARS) : '';
  return { ...nameOf(file), ...(type !== '' && { mediaType: type }), ...statedSize(bytes) };
}

/** The name that a sender's app gave to a file, on one line and without any folder. */
export function nameOf({ file_name: fileName }: Unchecked<Document>): { name?: string } {
  if (typeof fileName !== 'string') return {};
  const plain = wellFormed(fileName).replaceAll(INVISIBLE, '').replaceAll(/[/\\]/g, '').trim();
  const name = graphemePrefix(plain, NAME_CHARS);
  return name === '' ? {} : { name };
}

/** How long something lasts, where its sender's app says so. */
export function lengthOf({ duration }: Unchecked<Video>): { seconds?: number } {
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

/** The sound of a message: a voice message, an audio file, a video note. Pure, never throws. */
export function soundOf(message: RawMessage): { what: string; sound: Sound } | undefined {
  const what = SPOKEN.find((kind) => kind in message);
  if (what === undefined) return undefined;
  const spoken = message[what];
  if (!hasFileId(spoken)) return undefined;
  return { what, sound: { fileId: spoken.file_id, ...statedOf(spoken), ...lengthOf(spoken) } };
}

/** Words for the fields of a message, by their names. */
type Describing<Name extends keyof Message> = {
  readonly [Kind in Name]: (of: Unchecked<NonNullable<Message[Kind]>>) => string;
};

const coordinates = ({ latitude, longitude }: Unchecked<Location>): string =>
  `${number(latitude)}, ${number(longitude)}`;
const number = (value: unknown): string => (typeof value === 'number' ? String(value) : '?');
const texts = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isFields) : []);

/** Kinds of content that are told in words. */
export type DescribedKind = 'checklist' | 'contact' | 'dice' | 'location' | 'poll' | 'sticker' | 'venue';
/** Small things that people send, in words for the model. */
const DESCRIBED: Describing<DescribedKind> = {
  sticker: ({ emoji, set_name: set }) =>
    `(a sticker: ${lineOf(emoji)}${set === undefined ? '' : `, of the set ${lineOf(set)}`})`,
  venue: ({ title, address, location }) =>
    `(a place: ${lineOf(title)}, ${lineOf(address)}, at ${isFields(location) ? coordinates(location) : '?'})`,
  location: (location) => `(a location: ${coordinates(location)})`,
  contact: ({ first_name: first, last_name: last, phone_number: phone }) =>
    `(a contact: ${[first, last, phone]
      .map(lineOf)
      .filter((word) => word !== '')
      .join(' ')})`,
  poll: ({ question, options }) =>
    `(a poll: ${lineOf(question)} ${texts(options)
      .map(({ text }) => `[ ] ${lineOf(text)}`)
      .join(' ')})`,
  dice: ({ emoji, value }) => `(a throw of ${lineOf(emoji)}: ${number(value)})`,
  checklist: ({ title, tasks }) =>
    [
      `(a checklist: ${lineOf(title)})`,
      ...texts(tasks).map((task) => `- [${task.completion_date ? 'x' : ' '}] ${lineOf(task.text)}`),
    ].join('\n'),
};

/** Kinds of content that people send and deserve an answer to, although this version cannot read them. */
export const UNSUPPORTED = [
  'animation',
  'audio',
  'document',
  'game',
  'giveaway',
  'giveaway_winners',
  'invoice',
  'live_photo',
  'paid_media',
  'photo',
  'story',
  'video',
  'video_note',
  'voice',
] as const satisfies readonly (keyof Message)[];
type UnsupportedKind = (typeof UNSUPPORTED)[number];

/** Pictures, files and recordings, as far as their names and lengths tell of them. */
const MEDIA: Describing<UnsupportedKind> = {
  animation: (of) => `(an animation${length(of)})`,
  video: (of) => `(a video${length(of)}${named(of)})`,
  video_note: (of) => `(a video note${length(of)})`,
  voice: (of) => `(a voice message${length(of)})`,
  audio: (of) => `(an audio file${length(of)}${titled(of)})`,
  live_photo: () => '(a photo)',
  photo: () => '(a photo)',
  document: (of) => `(a file${named(of)})`,
  paid_media: () => '(something to be paid for)',
  story: () => '(a story)',
  game: () => '(a game)',
  giveaway: () => '(a giveaway)',
  giveaway_winners: () => '(the winners of a giveaway)',
  invoice: ({ title }) => `(an invoice: ${lineOf(title)})`,
};

const length = (of: Unchecked<Video>): string => (typeof of.duration === 'number' ? ` of ${of.duration} s` : '');
const named = ({ file_name: name }: Unchecked<Document>): string => (lineOf(name) === '' ? '' : `: ${lineOf(name)}`);
function titled(of: Unchecked<Audio>): string {
  const tags = [of.performer, of.title].map(lineOf).filter((tag) => tag !== '');
  return tags.length === 0 ? named(of) : `: ${tags.join(' – ')}`;
}

/** A sticker, a place, a contact, a poll, a throw or a checklist in words; nothing for other messages. Pure, total. */
export function inWords(message: RawMessage | Fields): string | undefined {
  return described(message, DESCRIBED);
}

/**
 * The media of a message in words, as far as can be told without looking at it; nothing for other messages. Pure.
 */
export function mediaInWords(message: RawMessage | Fields): string | undefined {
  return described(message, MEDIA);
}

function described(
  message: RawMessage | Fields,
  kinds: Readonly<Record<string, (of: Fields) => string>>,
): string | undefined {
  const fields: Fields = { ...message };
  for (const [kind, describe] of Object.entries(kinds)) {
    // A photo is a list of sizes.
    const of = Array.isArray(fields[kind]) ? {} : fields[kind];
    if (isFields(of)) return describe(of);
  }
  return undefined;
}
