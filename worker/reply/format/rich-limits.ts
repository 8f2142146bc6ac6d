import type { RichText } from '@grammyjs/types';
import type { Block } from '../../../shared/flow/reply.ts';
import { type RichBlock, richBlocks } from './rich.ts';

/** The size of a rich message in each of the units that Telegram limits. */
interface RichSize {
  /** The number of visible characters, as code points. */
  chars: number;
  /** The number of blocks, list items and table rows together. */
  blocks: number;
  /** The number of texts and of marks on texts together. */
  runs: number;
  /** How deeply blocks are nested. A list and its items count as two levels. */
  depth: number;
  /** The number of columns of the widest table. */
  columns: number;
}

/**
 * The server accepts 32,768 characters, but apps fold a message at about 7,350, and some have no way to unfold it. The server
 * silently cuts text after about 5,800 runs.
 */
export const RICH_MAX: RichSize = { chars: 7_000, blocks: 500, runs: 4_000, depth: 16, columns: 20 };

/** Whether Telegram accepts the blocks as one rich message, and apps show all of it. */
export function fitsRich(blocks: readonly Block[]): boolean {
  const size = richSize(richBlocks(blocks));
  return (
    size.chars <= RICH_MAX.chars && size.blocks <= RICH_MAX.blocks && size.runs <= RICH_MAX.runs && hasRichShape(size)
  );
}

/** Whether blocks of this depth and width can be rich messages once they are split. A split reduces neither depth nor width. */
export function hasRichShape({ depth, columns }: Pick<RichSize, 'depth' | 'columns'>): boolean {
  return depth <= RICH_MAX.depth && columns <= RICH_MAX.columns;
}

export function richSize(blocks: readonly RichBlock[]): RichSize {
  return blocks.reduce((sum, block) => addSizes(sum, blockSize(block)), size({}));
}

function blockSize(block: RichBlock): RichSize {
  const own = size({ blocks: 1, depth: 1 });
  switch (block.type) {
    case 'mathematical_expression':
      return addSizes(own, size({ chars: pointsOf(block.expression), runs: 1 }));
    case 'blockquote':
      return addSizes(own, addDepth(richSize(block.blocks), 1));
    case 'details':
      return [textSize(block.summary), addDepth(richSize(block.blocks), 1)].reduce(addSizes, own);
    case 'list':
      return block.items
        .map(({ blocks }) => addSizes(size({ blocks: 1 }), addDepth(richSize(blocks), 2)))
        .reduce(addSizes, own);
    case 'table':
      return block.cells
        .map((row) =>
          row.map(({ text }) => textSize(text ?? '')).reduce(addSizes, size({ blocks: 1, columns: row.length })),
        )
        .reduce(addSizes, own);
    default:
      return 'text' in block ? addSizes(own, textSize(block.text)) : own;
  }
}

function textSize(text: RichText): RichSize {
  if (typeof text === 'string') return size({ chars: pointsOf(text), runs: 1 });
  if (Array.isArray(text)) return text.map(textSize).reduce(addSizes, size({}));
  if ('expression' in text) return size({ chars: pointsOf(text.expression), runs: 1 });
  return addSizes(size({ runs: 1 }), 'text' in text ? textSize(text.text) : size({}));
}

function size(some: Partial<RichSize>): RichSize {
  return { chars: 0, blocks: 0, runs: 0, depth: 0, columns: 0, ...some };
}

function addSizes(a: RichSize, b: RichSize): RichSize {
  return {
    chars: a.chars + b.chars,
    blocks: a.blocks + b.blocks,
    runs: a.runs + b.runs,
    depth: Math.max(a.depth, b.depth),
    columns: Math.max(a.columns, b.columns),
  };
}

function addDepth(inner: RichSize, levels: number): RichSize {
  return { ...inner, depth: inner.depth + levels };
}

function pointsOf(text: string): number {
  let points = text.length;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) points -= 1;
  return points;
}
