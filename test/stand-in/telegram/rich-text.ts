/** Rich text: a string, a list of rich texts, or an object with a type. */
import { longField } from './entities.ts';
import { FieldError, integerField, isObject, type JsonObject, objectField, textField } from './fields.ts';
import { cleanedText } from './formatted.ts';
import { type InlineButton, readButton } from './markup.ts';
import type { ApiVersion } from './versions.ts';

/** A formatted piece. Its fields differ by its type; those that the server does not know are gone. */
export interface RichNode {
  type: string;
  text?: RichText;
  button?: InlineButton & { text: RichText };
  [more: string]: unknown;
}

export type RichText = string | RichNode | RichText[];

/**
 * The server cuts each string here, in silence (`clean_input_string` of td's misc.cpp). That is what was measured as a
 * cost of 35,000 units: 4,374 of 5,000 times "**bold**", and 8,749 of 40,000 emoji.
 */
const STRING_BYTES_MAX = 34_996;

const BUTTON_STYLES = new Set(['primary', 'danger', 'success', 'link']);
const EMOJI_AND_TIMES = new Set(['custom_emoji', 'date_time']);

type Read = (object: JsonObject, name: string) => unknown;

/** What each type has besides its text. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  ...Object.fromEntries(
    'bold italic underline strikethrough spoiler subscript superscript marked code'
      .split(' ')
      .map((type) => [type, {}]),
  ),
  date_time: { unix_time: integerField, date_time_format: textField },
  text_mention: { user: objectField },
  url: { url: cleanField },
  email_address: { email_address: cleanField },
  phone_number: { phone_number: cleanField },
  bank_card_number: { bank_card_number: cleanField },
  mention: { username: cleanField },
  hashtag: { hashtag: cleanField },
  cashtag: { cashtag: cleanField },
  bot_command: { bot_command: cleanField },
  anchor_link: { anchor_name: cleanField },
  reference: { name: cleanField },
  reference_link: { reference_name: cleanField },
};
const WITHOUT_TEXT: typeof FIELDS = {
  custom_emoji: { custom_emoji_id: longField, alternative_text: cleanField },
  mathematical_expression: { expression: cleanField },
  anchor: { name: cleanField },
};

/** A string as the server keeps it. */
export function cleanField(object: JsonObject, name: string): string {
  return cleanedString(textField(object, name));
}

function cleanedString(sent: string): string {
  if (!sent.isWellFormed()) throw new FieldError('Rich text must be encoded in UTF-8');
  const clean = cleanedText(sent);
  if (Buffer.byteLength(clean) <= STRING_BYTES_MAX) return clean;
  let bytes = 0;
  let kept = '';
  for (const char of clean) {
    if (bytes >= STRING_BYTES_MAX) break;
    bytes += Buffer.byteLength(char);
    kept += char;
  }
  return kept;
}

/** Reads the rich text in a field. Adjacent strings are one afterwards, as in the server's answer. */
export function richField(object: JsonObject, name: string, version: ApiVersion): RichText {
  if (object[name] === undefined) throw new FieldError(`Can't find field "${name}"`);
  return readRichText(object[name], version);
}

function readRichText(sent: unknown, version: ApiVersion): RichText {
  if (typeof sent === 'string') return cleanedString(sent);
  if (Array.isArray(sent)) return joined(sent.map((part) => readRichText(part, version)));
  if (!isObject(sent)) throw new FieldError('Unsupported rich text type');
  const type = textField(sent, 'type');
  const read = (fields: Readonly<Record<string, Read>>): JsonObject =>
    Object.fromEntries(Object.entries(fields).map(([name, readField]) => [name, readField(sent, name)]));
  if (Object.hasOwn(WITHOUT_TEXT, type)) return { type, ...read(WITHOUT_TEXT[type] ?? {}) };
  if (type === 'button' && version.knows('10.3')) {
    return { type, button: readRichButton(objectField(sent, 'button'), version) };
  }
  if (!Object.hasOwn(FIELDS, type)) throw new FieldError('Unsupported rich text type');
  return { type, text: richField(sent, 'text', version), ...read(FIELDS[type] ?? {}) };
}

function joined(parts: readonly RichText[]): RichText {
  const list: RichText[] = [];
  for (const part of parts.flat() as RichText[]) {
    const last = list.at(-1);
    if (typeof part === 'string' && typeof last === 'string') list[list.length - 1] = last + part;
    else if (part !== '') list.push(part);
  }
  return list.length > 1 ? list : (list[0] ?? '');
}

/** Reads a button of a rich message; its label may hold emoji and times, and no other format. */
export function readRichButton(sent: JsonObject, version: ApiVersion): InlineButton & { text: RichText } {
  const text = richField(sent, 'text', version);
  for (const part of [text].flat() as RichText[]) {
    if (typeof part !== 'string' && !EMOJI_AND_TIMES.has((part as RichNode).type)) {
      throw new FieldError('Unsupported rich text type');
    }
  }
  const button = readButton({ ...sent, text: '…' }, version, BUTTON_STYLES);
  if (button.style === 'link' && button.callback_data === undefined) {
    throw new FieldError('invalid button style specified');
  }
  return { ...button, text } as InlineButton & { text: RichText };
}
