import type { Block, Table } from '../../../shared/flow/reply.ts';
import { type Canvas, ENTITIES_MAX, ENTITY_BYTES_MAX } from './canvas.ts';
import { drawn, type Indent } from './entities.ts';
import { richBlocks } from './rich.ts';
import { RICH_MAX, richSize } from './rich-limits.ts';
import { columnWidths } from './table-columns.ts';

/** The share of blocks in each limit of a message; the first number counts characters. */
export type Size = readonly number[];

/** How the blocks of one path are measured. Sizes add up: blocks together never take more than the sum of each. */
export interface Ruler {
  /** The most that one message takes. */
  readonly limit: Size;
  /** More than a list, an item, a quote or a fence takes up by itself. */
  readonly frame: Size;
  readonly sizeOf: (blocks: readonly Block[], place: Indent) => Size;
  /** A table such that its pieces look like parts of it. */
  readonly whole: (table: Table) => Table;
}

/** Telegram takes 4,096 UTF-16 units; the rest is room for the notice that a part may be a repeat. */
export const TEXT_CHARS_MAX = 4_000;
const GAP = 2;

/** Texts with entities. Bold and the like do not count: they are left out where a message has too many. */
export const ENTITIES: Ruler = {
  limit: [TEXT_CHARS_MAX, ENTITIES_MAX, ENTITY_BYTES_MAX],
  frame: [24, 1, 100],
  sizeOf: (blocks, place) => drawnSize(drawn(blocks, place)),
  whole: (table) => ({ ...table, widths: table.widths ?? columnWidths(table) }),
};

/** Rich messages. */
export const RICH: Ruler = {
  limit: [RICH_MAX.chars, RICH_MAX.blocks, RICH_MAX.runs],
  frame: [0, 2, 2],
  sizeOf: (blocks) => {
    const { chars, blocks: count, runs } = richSize(richBlocks(blocks));
    return [chars, count, runs];
  },
  whole: (table) => table,
};

function drawnSize({ text, entities }: Canvas): Size {
  const links = entities.filter(({ type }) => type === 'text_link' || type === 'spoiler' || type === 'pre');
  const bytes = links.reduce((sum, link) => sum + Buffer.byteLength(JSON.stringify(link)) + OFFSET_DIGITS, 0);
  return [text.length + GAP, links.length, bytes];
}
/** An offset in the message may have more digits than one in the block. */
const OFFSET_DIGITS = 4;

/** The size of a block if it is within a limit. A block that is far larger is not drawn. */
export function sizeWithin(ruler: Ruler, block: Block, limit: Size, place: Indent): Size | undefined {
  // A character of a rich message may be two units, and a unit may be a paragraph of an item.
  if (isLonger(block, 4 * (limit[0] ?? 0))) return undefined;
  const size = ruler.sizeOf([block], place);
  return size.every((each, index) => each <= (limit[index] ?? 0)) ? size : undefined;
}

export function minus(size: Size, other: Size): Size {
  return size.map((each, index) => each - (other[index] ?? 0));
}

/** Whether a block has more than so many units of text, lists and rows, without reading all of it. */
function isLonger(block: Block, units: number): boolean {
  let left = units;
  const isOver = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null) return false;
    if ('text' in part) left -= String(part.text).length;
    if (Array.isArray(part)) left -= 1;
    return left < 0 || Object.values(part).some(isOver);
  };
  return isOver(block);
}
