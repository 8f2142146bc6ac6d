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

/** A sticker, a place, a contact, a poll, a throw or a checklist in words; nothing for other messages. Pure, total. */
export function inWords(message: RawMessage): string | undefined {
  const fields: Fields = { ...message };
  for (const [kind, describe] of Object.entries(DESCRIBED)) {
    const of = fields[kind];
    if (isFields(of)) return describe(of);
  }
  return undefined;
}
