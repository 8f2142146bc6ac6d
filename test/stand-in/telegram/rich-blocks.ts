/** The blocks of a rich message, read by the types of Bot API 10.3. What the server does not know is ignored. */
import {
  arrayField,
  FieldError,
  flagField,
  integerField,
  integerFieldOr,
  isObject,
  type JsonObject,
  objectField,
  objectOf,
  textField,
  textFieldOr,
} from './fields.ts';
import { badRequest } from './refusal.ts';
import { cleanField, type RichText, readRichButton, richField } from './rich-text.ts';
import type { ApiVersion } from './versions.ts';

/** A block. Its fields differ by its type. */
export interface RichBlock {
  type: string;
  [more: string]: unknown;
}

/** What blocks are read for. */
export interface RichPlace {
  readonly version: ApiVersion;
  /** Whether it is for a draft, which alone may show that it is thinking. */
  readonly isDraft: boolean;
}

type Read = (block: JsonObject, name: string, place: RichPlace) => unknown;

const SINCE: Readonly<Record<string, string>> = { expandable_blockquote: '10.3', document: '10.3', buttons: '10.3' };
const ALIGN = ['left', 'center', 'right'];
const VALIGN = ['top', 'middle', 'bottom'];
const BUTTONS_MAX = 8;

const rich: Read = (block, name, { version }) => richField(block, name, version);
const richOr: Read = (block, name, place) => (block[name] === undefined ? undefined : rich(block, name, place));
const flag: Read = (block, name) => flagField(block, name) || undefined;
const blocks: Read = (block, name, place) => arrayField(block, name).map((one) => readBlock(one, place));

const caption: Read = (block, name, place) => {
  if (block[name] === undefined) return undefined;
  const sent = objectField(block, name);
  return defined({ text: rich(sent, 'text', place), credit: richOr(sent, 'credit', place) });
};

const media: Read = (block, name) => {
  const sent = objectField(block, name);
  return { type: textField(sent, 'type'), media: textField(sent, 'media') };
};

const number: Read = (block, name) => {
  if (block[name] === undefined) throw new FieldError(`Can't find field "${name}"`);
  if (typeof block[name] !== 'number') throw new FieldError(`Field "${name}" must be of type Number`);
  return block[name];
};

const location: Read = (block, name, place) => {
  const sent = objectField(block, name);
  return { latitude: number(sent, 'latitude', place), longitude: number(sent, 'longitude', place) };
};

const size: Read = (block, name) => {
  const value = integerField(block, name);
  if (value < 1 || value > 6) throw badRequest('invalid section heading size specified');
  return value;
};

const oneOf = (object: JsonObject, name: string, allowed: readonly string[], normal: string): string => {
  const value = textFieldOr(object, name) ?? normal;
  if (!allowed.includes(value)) throw new FieldError(`Field "${name}" has an unsupported value`);
  return value;
};

const buttons: Read = (block, name, { version }) => {
  const list = arrayField(block, name).map((button) => readRichButton(objectOf(button), version));
  if (list.length < 1 || list.length > BUTTONS_MAX)
    throw new FieldError(`Field "${name}" must have 1-${BUTTONS_MAX} buttons`);
  return list;
};

const cells: Read = (block, name, place) =>
  arrayField(block, name).map((row) => {
    if (!Array.isArray(row)) throw new FieldError(`Field "${name}" must be an Array of Arrays`);
    return row.map((cell) => readCell(objectOf(cell), place));
  });

function readCell(cell: JsonObject, place: RichPlace): JsonObject {
  const isHeader = flagField(cell, 'is_header');
  const [colspan = 1, rowspan = 1] = ['colspan', 'rowspan'].map((name) => integerFieldOr(cell, name));
  if (colspan < 0) throw badRequest('invalid table cell colspan specified');
  if (rowspan < 0) throw badRequest('invalid table cell rowspan specified');
  return defined({
    text: richOr(cell, 'text', place),
    is_header: isHeader || undefined,
    colspan: colspan > 1 ? colspan : undefined,
    rowspan: rowspan > 1 ? rowspan : undefined,
    align: oneOf(cell, 'align', ALIGN, isHeader ? 'center' : 'left'),
    valign: oneOf(cell, 'valign', VALIGN, 'top'),
  });
}

const items: Read = (block, name, place) => {
  const list = arrayField(block, name).map((item) => readItem(objectOf(item), place));
  if (list.length === 0) throw badRequest('list must be non-empty');
  const ordered = list.filter((item) => item.type !== undefined).length;
  if (ordered > 0 && ordered < list.length) throw badRequest('list must be either ordered or unordered');
  return list;
};

/** An item has a number only where it says of which type; a value alone is ignored. */
function readItem(item: JsonObject, place: RichPlace): JsonObject {
  const type = textFieldOr(item, 'type');
  const value = integerFieldOr(item, 'value') ?? 0;
  if (type !== undefined && !/^[aAiI1]$/.test(type)) throw badRequest('invalid list item type specified');
  const hasCheckbox = flagField(item, 'has_checkbox') || undefined;
  return defined({
    label: type === undefined ? '•' : `${value}.`,
    blocks: blocks(item, 'blocks', place),
    has_checkbox: hasCheckbox,
    is_checked: (hasCheckbox && flagField(item, 'is_checked')) || undefined,
    ...(type !== undefined && { value, type }),
  });
}

const BLOCKS: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  paragraph: { text: rich },
  heading: { text: rich, size },
  pre: { text: rich, language: textFieldOr },
  footer: { text: rich },
  divider: {},
  mathematical_expression: { expression: cleanField },
  anchor: { name: cleanField },
  list: { items },
  blockquote: { blocks, credit: richOr },
  expandable_blockquote: { text: rich, credit: richOr },
  pullquote: { text: rich, credit: richOr },
  collage: { blocks, caption },
  slideshow: { blocks, caption },
  table: { cells, is_bordered: flag, is_striped: flag, is_compact: flag, caption: richOr },
  details: { summary: rich, blocks, is_open: flag },
  map: { location, zoom: integerField, width: integerField, height: integerField, caption },
  animation: { animation: media, caption },
  audio: { audio: media, caption },
  document: { document: media, caption },
  photo: { photo: media, caption },
  video: { video: media, caption },
  voice_note: { voice_note: media, caption },
  buttons: { buttons, align: (block) => oneOf(block, 'align', ALIGN, 'center') },
  thinking: { text: rich },
};

/** Reads one block. The server names the field that is wrong, and never the block. */
export function readBlock(sent: unknown, place: RichPlace): RichBlock {
  if (!isObject(sent)) throw new FieldError('expected an Object');
  const type = textField(sent, 'type');
  const isOffered = Object.hasOwn(BLOCKS, type) && place.version.knows(SINCE[type] ?? '0');
  if (!isOffered || (type === 'thinking' && !place.isDraft)) throw new FieldError(`type "${type}" is unsupported`);
  const fields = Object.entries(BLOCKS[type] ?? {}).map(([name, read]) => [name, read(sent, name, place)]);
  return { type, ...defined(Object.fromEntries(fields)) };
}

function defined(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** What stands around and in a block: the blocks in it, its items, and its texts, each with its own name. */
export function textsOf(block: JsonObject): RichText[] {
  const { caption: sentCaption, cells: rows, buttons: row } = block;
  const inCaption = isObject(sentCaption) ? [sentCaption.text, sentCaption.credit] : [sentCaption];
  const inCells = ((rows ?? []) as JsonObject[][]).flat().map(({ text }) => text);
  const inButtons = ((row ?? []) as JsonObject[]).map(({ text }) => text);
  const own = [block.text, block.summary, block.expression];
  return [...own, ...inCells, ...inButtons, block.credit, ...inCaption].filter(
    (text) => text !== undefined,
  ) as RichText[];
}
