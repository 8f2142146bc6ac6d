import { isFields } from '../../shared/base/fields.ts';
import { lineOf, type RawMessage } from './raw-message.ts';

type Fields = Record<string, unknown>;
type Describe = (of: Fields) => string;

const coordinates = ({ latitude, longitude }: Fields): string => `${number(latitude)}, ${number(longitude)}`;
const number = (value: unknown): string => (typeof value === 'number' ? String(value) : '?');
const texts = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isFields) : []);

/** Small things that people send, in words for the model. */
const DESCRIBED: Readonly<Record<string, Describe>> = {
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

/** Pictures, files and recordings, as far as their names and lengths tell of them. */
const MEDIA: Readonly<Record<string, Describe>> = {
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
};

const length = (of: Fields): string => (typeof of.duration === 'number' ? ` of ${of.duration} s` : '');
const named = ({ file_name: name }: Fields): string => (lineOf(name) === '' ? '' : `: ${lineOf(name)}`);
function titled(of: Fields): string {
  const tags = [of.performer, of.title].map(lineOf).filter((tag) => tag !== '');
  return tags.length === 0 ? named(of) : `: ${tags.join(' – ')}`;
}

/** A sticker, a place, a contact, a poll, a throw or a checklist in words; nothing for other messages. Pure, total. */
export function inWords(message: RawMessage | Fields): string | undefined {
  return described(message, DESCRIBED);
}

/**
 * What a message brings besides words, as far as can be told without looking at it; nothing for other messages. Pure.
 */
export function mediaInWords(message: RawMessage | Fields): string | undefined {
  return described(message, MEDIA);
}

function described(message: RawMessage | Fields, kinds: Readonly<Record<string, Describe>>): string | undefined {
  const fields: Fields = { ...message };
  for (const [kind, describe] of Object.entries(kinds)) {
    // A photo is a list of sizes.
    const of = kind === 'photo' && Array.isArray(fields[kind]) ? {} : fields[kind];
    if (isFields(of)) return describe(of);
  }
  return undefined;
}
