import type { Block, Inline, Item, List, Quote, Table } from '../../../shared/flow/reply.ts';
import {
  type Canvas,
  EMPHASIS_TYPES,
  type EntityType,
  type Formatted,
  finishCanvas,
  type Mark,
  mark,
  newCanvas,
} from './canvas.ts';
import { gridOf } from './table-columns.ts';

/** A quote of at least this many lines is folded. */
const FOLDED_LINES = 8;
const RULE = '———';
const BULLET = '• ';

/** Where a block or a text stands: its indentation, and the quote and the entities around it. */
export interface Indent {
  /** The beginning of each line. The first line of a list item begins with the `lead` of the canvas instead. */
  readonly indent: string;
  readonly isInQuote: boolean;
  /** Types of the entities around this place. Telegram accepts no entity within one of the same type, and no code in links. */
  readonly marks: readonly EntityType[];
}

export const TOP: Indent = { indent: '', isInQuote: false, marks: [] };

/** Draws blocks as a text with entities, for `sendMessage`. Pure, total. */
export function withEntities(blocks: readonly Block[]): Formatted {
  return finishCanvas(drawCanvas(blocks, TOP));
}

/** The text that `withEntities` draws, without the entities. */
export function plainText(blocks: readonly Block[]): string {
  return finishCanvas(drawCanvas(blocks, TOP)).text;
}

/** Draws blocks on a new canvas, whose text is not yet trimmed. */
export function drawCanvas(blocks: readonly Block[], place: Indent): Canvas {
  const canvas = newCanvas();
  drawBlocks(canvas, blocks, place, '\n\n');
  return canvas;
}

export function inItem(place: Indent, marker: string): Indent {
  return { ...place, indent: place.indent + ' '.repeat(marker.length) };
}

export function inQuote(place: Indent): Indent {
  // Telegram's quotes cannot nest, so the lines of an inner quote begin with >, as in an e-mail.
  return place.isInQuote ? { ...place, indent: `${place.indent}> ` } : { ...place, isInQuote: true };
}

/** The marker before an item: its number, the box of its task, or both; a bullet if it has neither. */
export function markerOf({ start }: List, index: number, { checked }: Item): string {
  const number = start === undefined ? '' : `${start + index}. `;
  const box = checked === undefined ? '' : checked ? '☑ ' : '☐ ';
  return number + box || BULLET;
}

function drawBlocks(canvas: Canvas, blocks: readonly Block[], place: Indent, gap: string): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) canvas.text += gap;
    drawBlock(canvas, block, place);
  }
}

function drawBlock(canvas: Canvas, block: Block, place: Indent): void {
  switch (block.type) {
    case 'paragraph':
      startLine(canvas, place);
      drawInlines(canvas, block.inlines, place);
      break;
    case 'heading':
      startLine(canvas, place);
      drawMarked(canvas, { type: 'bold' }, block.inlines, place);
      break;
    case 'rule':
      startLine(canvas, place);
      canvas.text += RULE;
      break;
    case 'code':
      drawCode(canvas, block.text, block.language);
      break;
    case 'formula':
      drawCode(canvas, block.text, 'latex');
      break;
    case 'table':
      drawTable(canvas, block, place);
      break;
    case 'quote':
      drawQuote(canvas, block, place);
      break;
    case 'list':
      drawList(canvas, block, place);
      break;
    case 'details':
      startLine(canvas, place);
      drawMarked(canvas, { type: 'bold' }, block.summary, place);
      canvas.text += '\n';
      drawBlocks(canvas, block.blocks, place, '\n\n');
  }
}

function drawList(canvas: Canvas, list: List, place: Indent): void {
  const base = canvas.lead ?? place.indent;
  for (const [index, item] of list.items.entries()) {
    if (index > 0) canvas.text += '\n';
    const marker = markerOf(list, index, item);
    canvas.lead = (index === 0 ? base : place.indent) + marker;
    drawBlocks(canvas, item.blocks, inItem(place, marker), '\n');
    if (canvas.lead !== undefined) canvas.text += canvas.lead.trimEnd();
    canvas.lead = undefined;
  }
}

function drawQuote(canvas: Canvas, { blocks }: Quote, place: Indent): void {
  const offset = canvas.text.length;
  drawBlocks(canvas, blocks, inQuote(place), '\n\n');
  if (place.isInQuote) return;
  const text = canvas.text.slice(offset);
  const type = text.split('\n').length < FOLDED_LINES ? 'blockquote' : 'expandable_blockquote';
  canvas.entities.push({ type, offset, length: text.length });
}

/** Draws a table as monospaced lines. The links of its cells follow below, since monospaced text cannot contain links. */
function drawTable(canvas: Canvas, table: Table, place: Indent): void {
  drawCode(canvas, gridOf(table), undefined);
  const links = [table.header, ...table.rows].flatMap((row) => row.flatMap(linksOf));
  for (const [index, link] of links.entries()) {
    canvas.text += index === 0 ? '\n' : ' · ';
    drawInlines(canvas, [link], place);
  }
}

function linksOf(inlines: readonly Inline[]): Inline[] {
  return inlines.flatMap((inline) =>
    inline.type === 'link' ? [inline] : 'inlines' in inline ? linksOf(inline.inlines) : [],
  );
}

/** Draws code without the indentation of its place, since people copy code. */
function drawCode(canvas: Canvas, text: string, language: string | undefined): void {
  if (canvas.lead !== undefined) canvas.text += `${canvas.lead.trimEnd()}\n`;
  canvas.lead = undefined;
  mark(canvas, { type: 'pre', ...(language !== undefined && { language }) }, () => {
    canvas.text += text;
  });
}

function drawInlines(canvas: Canvas, inlines: readonly Inline[], place: Indent): void {
  for (const inline of inlines) {
    if (inline.type === 'text') drawText(canvas, inline.text, place);
    else if (inline.type === 'time') mark(canvas, timeMark(inline.atMs), () => drawText(canvas, inline.text, place));
    else if ('text' in inline) drawInlineCode(canvas, inline.text, place);
    else if (inline.type !== 'link') drawMarked(canvas, { type: EMPHASIS_TYPES[inline.type] }, inline.inlines, place);
    else if (isFoundByClients(inline)) drawInlines(canvas, inline.inlines, place);
    else drawMarked(canvas, { type: 'text_link', url: inline.url }, inline.inlines, place);
  }
}

/** The entity of a time. Telegram apps show the weekday, the date and the time of day in the zone of the device. */
function timeMark(atMs: number): Mark {
  return { type: 'date_time', unix_time: Math.floor(atMs / 1000), date_time_format: 'wDt' };
}

/** Whether Telegram apps recognise a link without an entity, because its text is the URL. */
function isFoundByClients({ url, inlines: [only, ...others] }: Inline & { type: 'link' }): boolean {
  return others.length === 0 && only?.type === 'text' && only.text === url;
}

function drawInlineCode(canvas: Canvas, text: string, place: Indent): void {
  // A link can contain no code, and code within a spoiler would show the hidden text.
  const isMarked = !place.marks.some((type) => type === 'text_link' || type === 'spoiler');
  if (isMarked) mark(canvas, { type: 'code' }, () => drawText(canvas, text, place));
  else drawText(canvas, text, place);
}

function drawMarked(canvas: Canvas, entity: Mark, inlines: readonly Inline[], place: Indent): void {
  const inside: Indent = { ...place, marks: [...place.marks, entity.type] };
  if (place.marks.includes(entity.type)) drawInlines(canvas, inlines, place);
  else mark(canvas, entity, () => drawInlines(canvas, inlines, inside));
}

function drawText(canvas: Canvas, text: string, { indent }: Indent): void {
  canvas.text += text.replaceAll('\n', `\n${indent}`);
}

function startLine(canvas: Canvas, { indent }: Indent): void {
  canvas.text += canvas.lead ?? indent;
  canvas.lead = undefined;
}
