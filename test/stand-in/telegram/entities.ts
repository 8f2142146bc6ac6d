/** The entities of a text, read as a bot sends them. */
import { FieldError, integerField, type JsonObject, objectField, objectOf, reading, textField } from './fields.ts';
import { wrongLink } from './links.ts';
import { badRequest } from './refusal.ts';
import type { ApiVersion } from './versions.ts';

/** One entity: a part of a text, and what it is. Offsets count UTF-16 units. */
export interface Entity {
  type: string;
  offset: number;
  length: number;
  [more: string]: unknown;
}

const BYTES_MAX = 9_500;

const PLAIN = new Set('bold italic underline strikethrough spoiler code blockquote expandable_blockquote'.split(' '));
/** The server finds these itself, and drops them where a bot names them. */
const DETECTED = new Set('mention hashtag cashtag bot_command url email phone_number bank_card_number'.split(' '));
const TIME_FORMAT = /^(?:[rR]|[wtTdD]*)$/;

/** Reads entities. Refuses one of an unknown type or without its fields; drops a link that is none. */
export function readEntities(sent: unknown, version: ApiVersion): Entity[] {
  if (!Array.isArray(sent)) return [];
  const entities = sent.map((one) => reading("can't parse MessageEntity", () => readEntity(one, version)));
  if (Buffer.byteLength(JSON.stringify(sent)) > BYTES_MAX) throw badRequest('ENTITIES_TOO_LONG');
  return entities.filter((entity) => entity !== undefined);
}

function readEntity(sent: unknown, version: ApiVersion): Entity | undefined {
  const object = objectOf(sent);
  const place = { offset: integerField(object, 'offset'), length: integerField(object, 'length') };
  const type = textField(object, 'type');
  if (type === '') throw new FieldError('Type is not specified');
  const more = DETECTED.has(type) ? undefined : detailsOf(type, object, version);
  return more && { type, ...place, ...more };
}

/** What an entity of that type says besides its place; undefined for one that is dropped. */
function detailsOf(type: string, object: JsonObject, version: ApiVersion): JsonObject | undefined {
  if (PLAIN.has(type)) return {};
  switch (type) {
    case 'pre':
      return object.language === undefined || object.language === '' ? {} : { language: textField(object, 'language') };
    case 'text_link':
      return wrongLink(textField(object, 'url')) === undefined ? { url: object.url } : undefined;
    case 'text_mention':
      integerField(objectField(object, 'user'), 'id');
      return { user: object.user };
    case 'custom_emoji':
      return { custom_emoji_id: longField(object, 'custom_emoji_id') };
    case 'date_time':
      if (version.knows('9.5')) return dateTime(object);
  }
  throw new FieldError('Unsupported type specified');
}

/** An identifier of 64 bits, which JavaScript has no number for. */
export function longField(object: JsonObject, name: string): string {
  const value = textField(object, name);
  if (!/^-?\d{1,19}$/.test(value)) throw new FieldError(`Field "${name}" must be a valid Number`);
  return value;
}

function dateTime(object: JsonObject): JsonObject {
  const date_time_format = object.date_time_format === undefined ? '' : textField(object, 'date_time_format');
  if (!TIME_FORMAT.test(date_time_format)) throw new FieldError('Invalid date-time format specified');
  return { unix_time: integerField(object, 'unix_time'), date_time_format };
}
