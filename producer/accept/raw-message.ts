import type { Audio, Chat, Document, Location, Message, PhotoSize, User, Video, Voice } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundFile, Sound } from '../../shared/flow/message.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';

/** A message as Telegram delivers it, unchecked. */
export type RawMessage = Omit<Unchecked<Message>, 'from' | 'chat'> & {
  from?: Unchecked<User>;
  chat?: Unchecked<Chat>;
};

/** Replaces lone surrogates and removes NUL characters, because no model's endpoint accepts either in a request body. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

const LINE_CHARS = 300;

/** A string as one line of at most 300 UTF-16 units, without the characters of `INVISIBLE`; empty for any other value. */
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
/** Control characters, line separators, and codes that change the text direction, and so could show `gpj.exe` as `exe.jpg`. */
const INVISIBLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
/** The fields with moving pictures, of which the model can see only the thumbnails. */
export const MOVING = ['animation', 'video', 'video_note'] as const;

/**
 * The photo or the file of a message, or the thumbnail of its video; `undefined` if there is none. Accepts a document of any
 * stated type, because only the bytes of a file show its real type. Pure, never throws.
 */
export function fileOf(message: RawMessage): InboundFile | undefined {
  // For old bots, a message with an animation also has the field `document`, so look for moving pictures first.
  const moving = MOVING.find((kind) => kind in message);
  if (moving !== undefined) return thumbnailOf(moving, message[moving]);
  const photo = largestPhoto(message.photo);
  if (photo) return { what: 'photo', fileId: photo.fileId, ...sizeOf(photo.bytes) };
  const { document } = message;
  return hasFileId(document) ? { what: 'document', fileId: document.file_id, ...metadataOf(document) } : undefined;
}

/** The name, media type and size of a file, as far as the sender's Telegram app states them. */
function metadataOf(file: RawFile): Pick<Sound, 'name' | 'mediaType' | 'bytes'> {
  const { file_size: bytes, mime_type: mediaType } = file as Unchecked<Document>;
  const type = typeof mediaType === 'string' ? graphemePrefix(wellFormed(mediaType), TYPE_CHARS) : '';
  return { ...nameOf(file), ...(type !== '' && { mediaType: type }), ...sizeOf(bytes) };
}

/** The name that the sender's Telegram app states for a file, on one line and without slashes; empty if there is none. */
export function nameOf({ file_name: fileName }: Unchecked<Document>): { name?: string } {
  if (typeof fileName !== 'string') return {};
  const plain = wellFormed(fileName).replaceAll(INVISIBLE, '').replaceAll(/[/\\]/g, '').trim();
  const name = graphemePrefix(plain, NAME_CHARS);
  return name === '' ? {} : { name };
}

/** The duration of a recording or a video; empty if the sender's Telegram app states none. */
export function lengthOf({ duration }: Unchecked<Video>): { seconds?: number } {
  return isInteger(duration) && duration > 0 ? { seconds: duration } : {};
}

/** Whether a value is a file with an id that we can store. */
function hasFileId(file: unknown): file is RawFile {
  const { file_id: id } = (file ?? {}) as Partial<RawFile>;
  return typeof id === 'string' && id !== '' && id.length <= FILE_ID_CHARS && id === wellFormed(id);
}

/** The stated size of a file in bytes; empty unless it is a positive integer. */
function sizeOf(bytes: unknown): { bytes?: number } {
  return isInteger(bytes) && bytes > 0 ? { bytes } : {};
}

function thumbnailOf(what: string, moving: unknown): InboundFile | undefined {
  if (!isFields(moving) || !hasFileId(moving.thumbnail)) return undefined;
  const { file_id: fileId, file_size: bytes } = moving.thumbnail;
  return { what: 'photo', fileId, ...sizeOf(bytes), thumbnailOf: { what, ...lengthOf(moving), ...nameOf(moving) } };
}

/** The largest of the sizes in which Telegram offers a photo; `undefined` if there is none. */
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

/** The sound of a voice message, an audio file or a video note; `undefined` for other messages. Pure, never throws. */
export function soundOf(message: RawMessage): { what: string; sound: Sound } | undefined {
  const what = SPOKEN.find((kind) => kind in message);
  if (what === undefined) return undefined;
  const spoken = message[what];
  if (!hasFileId(spoken)) return undefined;
  return { what, sound: { fileId: spoken.file_id, ...metadataOf(spoken), ...lengthOf(spoken) } };
}

/** Functions that describe the content of a message's field in words, each under the name of its field. */
type Describing<Name extends keyof Message> = {
  readonly [Kind in Name]: (of: Unchecked<NonNullable<Message[Kind]>>) => string;
};

const coordinates = ({ latitude, longitude }: Unchecked<Location>): string =>
  `${number(latitude)}, ${number(longitude)}`;
const number = (value: unknown): string => (typeof value === 'number' ? String(value) : '?');
const texts = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isFields) : []);

/** Kinds of content that the model gets as a description in words. */
export type DescribedKind = 'checklist' | 'contact' | 'dice' | 'location' | 'poll' | 'sticker' | 'venue';
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

/** Kinds of content that a person sends. Such content gets an answer even if this version cannot read it. */
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

/** Describes content by its kind and, where Telegram states them, its duration and its name or title. */
const MEDIA: Describing<UnsupportedKind> = {
  animation: (of) => `(an animation${lengthSuffix(of)})`,
  video: (of) => `(a video${lengthSuffix(of)}${nameSuffix(of)})`,
  video_note: (of) => `(a video note${lengthSuffix(of)})`,
  voice: (of) => `(a voice message${lengthSuffix(of)})`,
  audio: (of) => `(an audio file${lengthSuffix(of)}${titleSuffix(of)})`,
  live_photo: () => '(a photo)',
  photo: () => '(a photo)',
  document: (of) => `(a file${nameSuffix(of)})`,
  paid_media: () => '(something to be paid for)',
  story: () => '(a story)',
  game: () => '(a game)',
  giveaway: () => '(a giveaway)',
  giveaway_winners: () => '(the winners of a giveaway)',
  invoice: ({ title }) => `(an invoice: ${lineOf(title)})`,
};

const lengthSuffix = (of: Unchecked<Video>): string => (typeof of.duration === 'number' ? ` of ${of.duration} s` : '');
const nameSuffix = ({ file_name: name }: Unchecked<Document>): string =>
  lineOf(name) === '' ? '' : `: ${lineOf(name)}`;
function titleSuffix(of: Unchecked<Audio>): string {
  const tags = [of.performer, of.title].map(lineOf).filter((tag) => tag !== '');
  return tags.length === 0 ? nameSuffix(of) : `: ${tags.join(' – ')}`;
}

/** Describes a sticker, a place, a contact, a poll, dice or a checklist; `undefined` for other messages. Pure, never throws. */
export function inWords(message: RawMessage | Fields): string | undefined {
  return describeFirst(message, DESCRIBED);
}

/** Describes media, stories, games, giveaways and invoices, without opening a file; `undefined` for other messages. Pure. */
export function mediaInWords(message: RawMessage | Fields): string | undefined {
  return describeFirst(message, MEDIA);
}

function describeFirst(fields: Fields, kinds: Readonly<Record<string, (of: Fields) => string>>): string | undefined {
  for (const [kind, describe] of Object.entries(kinds)) {
    // The field of a photo is a list of sizes. The description of a photo needs none of them.
    const of = Array.isArray(fields[kind]) ? {} : fields[kind];
    if (isFields(of)) return describe(of);
  }
  return undefined;
}
