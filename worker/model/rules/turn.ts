/** The messages of a request under repair, and the blocks of which they consist. */
import { type Block, textBlock } from '../block.ts';
import type { Fields } from './shapes.ts';

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

/** A message. */
export interface DraftTurn {
  readonly role: 'user' | 'assistant';
  parts: Part[];
  readonly path: string;
  /** The message that this turn was read from, if it can be sent again when nothing in it changed. */
  readonly source?: Fields | undefined;
  /** Whether something was changed, or must have been, between the turn before and the first part of this one. */
  suspect: boolean;
}

/**
 * A part at its path: its own, or for one of ours that of a neighbour. What did not come with the request is a change.
 */
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

/** A message of ours, with so many texts. */
export function ourTurn(path: string, ...texts: string[]): DraftTurn {
  return { role: 'user', parts: texts.map((text) => partOf(textBlock(text), path)), path, suspect: true };
}

/** The parts of a turn that will be sent. */
export function liveParts({ parts }: DraftTurn): Part[] {
  return parts.every(isLive) ? parts : parts.filter(isLive);
}

function isLive({ out }: Part): boolean {
  return !out;
}

/** Whether a turn has nothing that will be sent. */
export function isEmpty({ parts }: DraftTurn): boolean {
  return !parts.some(isLive);
}

/** A turn as a message: the very one that it was read from, where nothing in it changed. */
export function messageOf(turn: DraftTurn): unknown {
  const { role, source } = turn;
  const parts = liveParts(turn);
  if (source !== undefined && isAsItCame(parts, source.content)) return source;
  return { role, content: parts.map(({ block }) => block) };
}

function isAsItCame(parts: readonly Part[], content: unknown): boolean {
  if (Array.isArray(content))
    return parts.length === content.length && parts.every(({ block }, at) => block === content[at]);
  const [only] = parts;
  return parts.length === 1 && only?.block === only?.came && only?.block.text === content;
}
