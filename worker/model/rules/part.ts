/** The blocks of a request under repair. */
import type { Block } from '../block.ts';

/** A block in a request. Another one can be put in its place. */
export interface Slot {
  block: Block;
  readonly path: string;
  /** Whether this is a change to all that comes after it. */
  changed: boolean;
}

/** A block of a message. What is taken out stays in its place, since it is a change to all that comes after it. */
export interface Part extends Slot {
  /** The block that came with the request; undefined for one of ours. */
  readonly came: Block | undefined;
  out: boolean;
}

/** A part at its path: its own, or for one of ours that of a neighbour. What did not come with the request is a change. */
export function partOf(block: Block, path: string, came?: Block): Part {
  return { block, came, path, out: false, changed: came === undefined };
}

/** A block inside the result of a tool; `inside` is a copy of all that the result holds, shared by its slots. */
export function slotInside(part: Part, inside: unknown[], at: number): Slot {
  return {
    path: `${part.path}.content.${at}`,
    get block() {
      return inside[at] as Block;
    },
    set block(block) {
      inside[at] = block;
      part.block = { ...part.block, content: inside };
    },
    set changed(changed: boolean) {
      part.changed = changed;
    },
  };
}
