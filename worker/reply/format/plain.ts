import { finished } from './canvas.ts';
import { drawn, TOP } from './entities.ts';
import type { Block } from './tree.ts';

/** The text of blocks without marks: what every client shows, and exactly the text of `withEntities`. */
export function plainText(blocks: readonly Block[]): string {
  return finished({ ...drawn(blocks, TOP) }).text;
}
