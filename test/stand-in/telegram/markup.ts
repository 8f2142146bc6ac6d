/** Keyboards under messages, as the server reads them: of a button it keeps the first kind that it finds. */
import {
  FieldError,
  flagField,
  isObject,
  type JsonObject,
  objectField,
  reading,
  textField,
  textFieldOr,
} from './fields.ts';
import { wrongLink } from './links.ts';
import { asJson } from './params.ts';
import { badRequest } from './refusal.ts';
import type { ApiVersion } from './versions.ts';

/** One button of an inline keyboard. */
export interface InlineButton {
  text: string;
  style?: string;
  url?: string;
  callback_data?: string;
  disabled?: object;
  [other: string]: unknown;
}

const STYLES = new Set(['primary', 'danger', 'success']);
const ROW_MAX = 12;
const BUTTONS_MAX = 300;
const DATA_BYTES_MAX = 64;
const OTHER_KINDS = ['callback_game', 'pay', 'switch_inline_query', 'switch_inline_query_chosen_chat'];
const LAST_KINDS = ['switch_inline_query_current_chat', 'login_url', 'web_app'];

/** Reads `reply_markup`. Undefined where there is none, or a keyboard without a button. */
export function readMarkup(sent: unknown, version: ApiVersion, onlyInline = false): JsonObject | undefined {
  if (sent === undefined || sent === '') return undefined;
  const markup = asJson(sent);
  if (markup === undefined) throw badRequest("can't parse reply keyboard markup JSON object");
  if (!isObject(markup)) throw badRequest('object expected as reply markup');
  if (markup.inline_keyboard !== undefined) return inlineKeyboard(markup, version);
  const isKnown = Array.isArray(markup.keyboard) || markup.remove_keyboard === true || markup.force_reply === true;
  if (!isKnown) return undefined;
  if (onlyInline) throw badRequest('inline keyboard expected');
  return markup;
}

function inlineKeyboard(markup: JsonObject, version: ApiVersion): JsonObject | undefined {
  if (!Array.isArray(markup.inline_keyboard)) {
    throw badRequest('field "inline_keyboard" must be of type Array');
  }
  const rows = (markup.inline_keyboard as unknown[]).map((row) => readRow(row, version));
  let left = BUTTONS_MAX;
  const inline_keyboard = rows.map((row) => {
    const kept = row.filter(({ text }) => text !== '').slice(0, Math.min(ROW_MAX, left));
    left -= kept.length;
    return kept;
  });
  for (const button of inline_keyboard.flat()) checkButton(button);
  const filled = inline_keyboard.filter((row) => row.length > 0);
  const force = version.knows('10.3') && flagField(markup, 'force_reply') ? { force_reply: true } : {};
  return filled.length === 0 ? undefined : { inline_keyboard: filled, ...force };
}

function readRow(row: unknown, version: ApiVersion): InlineButton[] {
  if (!Array.isArray(row)) {
    throw badRequest('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays');
  }
  return row.map((button) => reading("can't parse inline keyboard button", () => readButton(button, version)));
}

/** Reads a button; what it says is not checked yet. */
export function readButton(button: unknown, version: ApiVersion, styles: ReadonlySet<string> = STYLES): InlineButton {
  if (!isObject(button)) throw new FieldError('InlineKeyboardButton must be an Object');
  const text = textField(button, 'text');
  const style = version.knows('9.4') ? textFieldOr(button, 'style')?.toLowerCase() : undefined;
  if (style !== undefined && style !== 'default' && !styles.has(style)) {
    throw new FieldError('invalid button style specified');
  }
  return { text, ...(style && style !== 'default' && { style }), ...kindOf(button, version) };
}

function kindOf(button: JsonObject, version: ApiVersion): JsonObject {
  for (const name of ['url', 'callback_data']) {
    const value = textFieldOr(button, name);
    if (value !== undefined) return { [name]: value };
  }
  const first = [...OTHER_KINDS, ...LAST_KINDS].find((name) => button[name] !== undefined);
  if (first !== undefined) return { [first]: button[first] };
  if (button.disabled !== undefined && version.knows('10.3')) {
    objectField(button, 'disabled');
    return { disabled: {} };
  }
  throw new FieldError('Text buttons are unallowed in the inline keyboard');
}

/** Refuses a link that is none, and data that is too long. */
export function checkButton({ url, callback_data }: InlineButton): void {
  const wrong = url === undefined || /^tg:\/\/user\?id=\d+$/.test(url) ? undefined : wrongLink(url);
  if (wrong !== undefined) throw badRequest(`inline keyboard button URL '${url}' is invalid: ${wrong}`);
  if (callback_data !== undefined && Buffer.byteLength(callback_data) > DATA_BYTES_MAX) {
    throw badRequest('BUTTON_DATA_INVALID');
  }
}
