/** What the server refuses in blocks that it could read. */
import type { JsonObject } from './fields.ts';
import { wrongLink } from './links.ts';
import { checkButton, type InlineButton } from './markup.ts';
import { badRequest } from './refusal.ts';
import { type RichBlock, textsOf } from './rich-blocks.ts';
import type { RichNode, RichText } from './rich-text.ts';

const CHARS_MAX = 32_768;
const BLOCKS_MAX = 500;
const DEPTH_MAX = 16;
const COLUMNS_MAX = 20;
const MEDIA_MAX = 50;
const RUNS_MAX = 5_849;

const MEDIA = new Set('animation audio document photo video voice_note'.split(' '));
const NEEDS_TEXT = new Set('paragraph heading pre footer expandable_blockquote pullquote details thinking'.split(' '));
const NEEDS_BLOCKS = new Set('blockquote details collage slideshow'.split(' '));
const EMAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/;

interface Sums {
  chars: number;
  isBlank: boolean;
  blocks: number;
  depth: number;
  media: number;
  runs: number;
}

/** Refuses blocks that are empty, too many, too deep, too wide or too long. */
export function checkLimits(blocks: readonly RichBlock[]): void {
  const sums: Sums = { chars: 0, isBlank: true, blocks: 0, depth: 0, media: 0, runs: 0 };
  for (const block of blocks) sumBlock(block, 1, sums);
  if (sums.isBlank && sums.media === 0) throw badRequest('RICH_MESSAGE_EMPTY');
  if (sums.chars > CHARS_MAX) throw badRequest('RICH_MESSAGE_TEXT_TOO_LONG');
  if (sums.blocks > BLOCKS_MAX) throw badRequest('RICH_MESSAGE_BLOCKS_TOO_MANY');
  if (sums.depth > DEPTH_MAX) throw badRequest('RICH_MESSAGE_DEPTH_INVALID');
  if (sums.media > MEDIA_MAX) throw badRequest('RICH_MESSAGE_MEDIA_TOO_MANY');
  if (sums.runs > RUNS_MAX) throw badRequest('RICH_MESSAGE_TOO_LARGE');
  for (const block of blocks) checkBlock(block);
}

/** Blocks, list items and table rows count as blocks; a block, an item and a format are a level each. */
function sumBlock(block: RichBlock, depth: number, sums: Sums): void {
  const { items = [], blocks = [], cells = [] } = block as { items?: JsonObject[]; blocks?: RichBlock[]; cells?: [] };
  sums.blocks += 1 + items.length + cells.length;
  sums.depth = Math.max(sums.depth, depth);
  if (MEDIA.has(block.type)) sums.media += 1;
  for (const text of textsOf(block)) sumText(text, depth, false, sums);
  for (const inner of blocks) sumBlock(inner, depth + 1, sums);
  for (const item of items) for (const inner of item.blocks as RichBlock[]) sumBlock(inner, depth + 2, sums);
}

function sumText(text: RichText, depth: number, isFormatted: boolean, sums: Sums): void {
  sums.depth = Math.max(sums.depth, depth);
  if (typeof text === 'string') {
    sums.chars += [...text].length;
    sums.isBlank &&= text.trim() === '';
    if (isFormatted && text !== '') sums.runs += 1;
  } else if (Array.isArray(text)) {
    for (const part of text) sumText(part, depth, isFormatted, sums);
  } else {
    sumText(ownTextOf(text), depth + 1, true, sums);
  }
}

/** What a formatted piece says. */
export function ownTextOf({ text, button, alternative_text, expression }: RichNode): RichText {
  return text ?? button?.text ?? (alternative_text as string | undefined) ?? (expression as string | undefined) ?? '';
}

function checkBlock(block: RichBlock): void {
  const {
    items = [],
    blocks = [],
    cells = [],
  } = block as {
    items?: { blocks: RichBlock[] }[];
    blocks?: RichBlock[];
    cells?: { colspan?: number }[][];
  };
  const own = (block.text ?? block.summary) as RichText | undefined;
  const lacksText = NEEDS_TEXT.has(block.type) && isBlank(own ?? '');
  const lacksBlocks = NEEDS_BLOCKS.has(block.type) && blocks.length === 0;
  const lacksCells = block.type === 'table' && cells.every((row) => row.length === 0);
  if (lacksText || lacksBlocks || lacksCells || items.some((item) => item.blocks.length === 0)) {
    throw badRequest('RICH_MESSAGE_CONTENT_REQUIRED');
  }
  const columns = cells.map((row) => row.reduce((sum, { colspan = 1 }) => sum + colspan, 0));
  if (columns.some((count) => count > COLUMNS_MAX)) throw badRequest('RICH_MESSAGE_TABLE_COLS_TOO_MANY');
  for (const text of textsOf(block)) checkText(text);
  for (const button of (block.buttons ?? []) as InlineButton[]) checkButton(button);
  for (const inner of [...blocks, ...items.flatMap((item) => item.blocks)]) checkBlock(inner);
}

function isBlank(text: RichText): boolean {
  if (typeof text === 'string') return text.trim() === '';
  if (Array.isArray(text)) return text.every(isBlank);
  return isBlank(ownTextOf(text));
}

function checkText(text: RichText): void {
  if (typeof text === 'string') return;
  if (Array.isArray(text)) {
    for (const part of text) checkText(part);
    return;
  }
  const { type, url, email_address, alternative_text, button } = text;
  if (type === 'url' && !String(url).startsWith('#') && !isLink(String(url))) {
    throw badRequest('RICH_MESSAGE_URL_INVALID');
  }
  if (type === 'email_address' && !EMAIL.test(String(email_address))) throw badRequest('RICH_MESSAGE_EMAIL_INVALID');
  if (type === 'custom_emoji' && !/^(?:\p{Emoji}|\u200d|\ufe0f)*$/u.test(String(alternative_text))) {
    throw badRequest('RICH_MESSAGE_EMOJI_INVALID');
  }
  if (button !== undefined) checkButton(button);
  checkText(ownTextOf(text));
}

/** A rich message also links mail addresses and phone numbers. */
function isLink(url: string): boolean {
  return /^(?:mailto|tel):\S+$/i.test(url) || wrongLink(url) === undefined;
}
