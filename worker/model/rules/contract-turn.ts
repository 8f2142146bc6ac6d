import type { Block } from '../block.ts';
import { isBlock, isFields } from './contract-shapes.ts';

/** One message as the checks of the contract see it: a plain text is one block, and what is no block is undefined. */
export interface Turn {
  readonly role: unknown;
  readonly blocks: readonly (Block | undefined)[];
  /** The number of the message. */
  readonly index: number;
  /** Whether the content is a plain text, which has no blocks to number. */
  readonly plain: boolean;
}

const NO_BLOCKS: readonly unknown[] = [];

/** Reads a message, whatever it is. */
export function turnOf(message: unknown, index: number): Turn {
  const { role, content } = (isFields(message) ? message : {}) as { role?: unknown; content?: unknown };
  if (typeof content === 'string') {
    return { role, blocks: content === '' ? [] : [{ type: 'text', text: content }], index, plain: true };
  }
  const items: readonly unknown[] = Array.isArray(content) ? content : NO_BLOCKS;
  const blocks = items.every(isBlock) ? items : items.map((item) => (isBlock(item) ? item : undefined));
  return { role, blocks, index, plain: false };
}

/** Where a block stands. */
export function pathOf({ index, plain }: Turn, at: number): string {
  return plain ? `messages.${index}.content` : `messages.${index}.content.${at}`;
}

/** Shows every block, those inside a tool result before the result itself, in the order of the request. */
export function visitBlocks(turns: readonly Turn[], visit: (block: unknown, path: () => string) => void): void {
  for (const turn of turns) {
    for (let at = 0; at < turn.blocks.length; at++) {
      const block = turn.blocks[at];
      const path = (): string => pathOf(turn, at);
      if (block?.type === 'tool_result' && Array.isArray(block.content))
        for (const [index, nested] of block.content.entries()) visit(nested, () => `${path()}.content.${index}`);
      visit(block, path);
    }
  }
}
