import type { Block, Table } from '../../../shared/flow/reply.ts';
import { type Canvas, ENTITIES_MAX, ENTITY_BYTES_MAX } from './canvas.ts';
import { drawCanvas, type Indent } from './entities.ts';
import { richBlocks } from './rich.ts';
import { RICH_MAX, richSize } from './rich-limits.ts';
import { columnWidths } from './table-columns.ts';

/** A size in each unit that limits a message. The first unit is the character. */
export type Size = readonly number[];

/** Measures blocks for one path. Blocks together are never larger than the sum of their sizes. */
export interface Ruler {
  /** The largest size of a message. */
  readonly limit: Size;
  /** An upper bound on the size that a list, an item, a quote or a fence adds to its content. */
  readonly frame: Size;
  readonly sizeOf: (blocks: readonly Block[], place: Indent) => Size;
  /** Fixes the widths of the columns, if the table is drawn as text, so that pieces of the table look alike. */
  readonly fixWidths: (table: Table) => Table;
}

/** Bot API, `sendMessage`: 4,096 UTF-16 units. The difference leaves room for the notice that a part may be a repeat. */
export const TEXT_CHARS_MAX = 4_000;
const GAP = 2;

/** Measures texts with entities. Counts links, spoilers and code blocks; `finishCanvas` may drop other entities. */
export const ENTITIES: Ruler = {
  limit: [TEXT_CHARS_MAX, ENTITIES_MAX, ENTITY_BYTES_MAX],
  frame: [24, 1, 100],
  sizeOf: (blocks, place) => drawnSize(drawCanvas(blocks, place)),
  fixWidths: (table) => ({ ...table, widths: table.widths ?? columnWidths(table) }),
};

/** Measures rich messages. */
export const RICH: Ruler = {
  limit: [RICH_MAX.chars, RICH_MAX.blocks, RICH_MAX.runs],
  frame: [0, 2, 2],
  sizeOf: (blocks) => {
    const { chars, blocks: count, runs } = richSize(richBlocks(blocks));
    return [chars, count, runs];
  },
  fixWidths: (table) => table,
};

function drawnSize({ text, entities }: Canvas): Size {
  const links = entities.filter(({ type }) => type === 'text_link' || type === 'spoiler' || type === 'pre');
  const bytes = links.reduce((sum, link) => sum + Buffer.byteLength(JSON.stringify(link)) + OFFSET_DIGITS, 0);
  return [text.length + GAP, links.length, bytes];
}
/** How many more digits an offset in the message may have than the offset in the block. */
const OFFSET_DIGITS = 4;

/** The size of a block; undefined if the block exceeds the limit. Does not draw a block that is far larger than the limit. */
export function sizeWithin(ruler: Ruler, block: Block, limit: Size, place: Indent): Size | undefined {
  // The bound is generous, since a character may be two units, and `isLonger` also counts paragraphs and items.
  if (isLonger(block, 4 * (limit[0] ?? 0))) return undefined;
  const size = ruler.sizeOf([block], place);
  return size.every((each, index) => each <= (limit[index] ?? 0)) ? size : undefined;
}

export function minus(size: Size, other: Size): Size {
  return size.map((each, index) => each - (other[index] ?? 0));
}

/** Whether the text, paragraphs, items and rows of a block come to more than `units`. Stops reading as soon as they do. */
function isLonger(block: Block, units: number): boolean {
  let budget = units;
  const isOver = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null) return false;
    if ('text' in part) budget -= String(part.text).length;
    if (Array.isArray(part)) budget -= 1;
    return budget < 0 || Object.values(part).some(isOver);
  };
  return isOver(block);
}
