/** A rich message, from what a bot sends to what a person reads. */
import { arrayField, flagField, isObject, type JsonObject, reading } from './fields.ts';
import { asJson } from './params.ts';
import { badRequest } from './refusal.ts';
import { type RichBlock, type RichPlace, readBlock, textsOf } from './rich-blocks.ts';
import { checkLimits, ownTextOf } from './rich-limits.ts';
import type { RichText } from './rich-text.ts';

/** What is kept of a rich message. */
export interface RichMessage {
  readonly blocks: RichBlock[];
  readonly is_rtl?: boolean;
}

const SOURCES = ['blocks', 'markdown', 'html'];

/**
 * Reads `rich_message` without looking at its limits, which come after the chat. Exactly one source may be there, as the
 * documents ask; the real server takes several and uses the blocks. Of the sources only blocks are read here.
 */
export function readRichMessage(sent: unknown, place: RichPlace): RichMessage {
  const message = asJson(sent);
  const sources = isObject(message) ? SOURCES.filter((name) => message[name] !== undefined) : [];
  if (!isObject(message) || sources.length === 0) throw badRequest('rich message must be non-empty');
  if (sources.length > 1) throw badRequest('exactly one of the fields html, markdown, or blocks must be used');
  if (sources[0] !== 'blocks') throw badRequest(`the stand-in does not read rich ${sources[0]}`);
  if (!place.version.knows('10.2')) throw badRequest('rich message must be non-empty');
  const is_rtl = reading("can't parse InputRichMessage", () => flagField(message, 'is_rtl'));
  const blocks = reading("can't parse InputRichBlock", () =>
    arrayField(message, 'blocks').map((block) => readBlock(block, place)),
  );
  return { blocks, ...(is_rtl && { is_rtl }) };
}

/** Refuses what the server refuses once it knows the chat: too much, too deep, too wide, empty. */
export function checkRichMessage({ blocks }: RichMessage): void {
  checkLimits(blocks);
}

/** What a person reads, line by line. */
export function plainText(blocks: readonly RichBlock[]): string {
  return blocks
    .map(plainBlock)
    .filter((text) => text !== '')
    .join('\n');
}

function plainBlock(block: RichBlock): string {
  if (block.type === 'divider') return '———';
  const {
    items = [],
    blocks = [],
    cells = [],
  } = block as {
    items?: { label: string; blocks: RichBlock[]; has_checkbox?: true; is_checked?: true }[];
    blocks?: RichBlock[];
    cells?: { text?: RichText }[][];
  };
  const inItems = items.map(({ label, blocks: inner, has_checkbox, is_checked }) => {
    const mark = has_checkbox ? (is_checked ? '[x]' : '[ ]') : label;
    return `${mark} ${plainText(inner)}`;
  });
  const inCells = cells.map((row) => row.map(({ text = '' }) => plainRichText(text)).join(' | '));
  const own = textsOf({ ...block, cells: [] }).map(plainRichText);
  return [...own.slice(0, 1), ...inItems, ...inCells, plainText(blocks), ...own.slice(1)]
    .filter((text) => text !== '')
    .join('\n');
}

/** The words of a rich text. */
export function plainRichText(text: RichText): string {
  if (typeof text === 'string') return text;
  return Array.isArray(text) ? text.map(plainRichText).join('') : plainRichText(ownTextOf(text));
}

/** The data of every button in the blocks that can be pressed. */
export function dataIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(dataIn);
  if (!isObject(value)) return [];
  const own = typeof value.callback_data === 'string' ? [value.callback_data] : [];
  return [...own, ...Object.values(value as JsonObject).flatMap(dataIn)];
}
