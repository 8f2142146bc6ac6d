import {
  type Block,
  type Code,
  isBlank,
  lettersOf,
  type Prose,
  sliceInlines,
  trimmed,
} from '../../../shared/flow/reply.ts';
import type { Indent } from './entities.ts';
import { minus, type Ruler, type Size } from './ruler.ts';
import { headOf } from './width.ts';

/** The free space of a message, and the place of the next block. */
export interface Room {
  readonly ruler: Ruler;
  readonly space: Size;
  readonly place: Indent;
  /** Whether the message is still empty. A block that does not fit into an empty message fits nowhere. */
  readonly isEmpty: boolean;
}

/** The two sides of a cut: `head` goes into the message, `rest` into later messages. Either may be empty. */
export interface Cut {
  readonly head: readonly Block[];
  readonly rest: readonly Block[];
}

/** The smallest room, in characters, that is worth filling with a piece of a text. An empty message takes any piece. */
const PIECE_CHARS_MIN = 200;
/** Matches a text up to the end of its last complete sentence. */
const SENTENCES = /^[\s\S]*(?:[.!?…]["'”’)\]]*\s+|[。！？]["'”’」』）]*)/;

/** Cuts a paragraph or a heading where `cutAt` finds the best place. With too little room, the whole block is the rest. */
export function cutProse(block: Prose, { ruler, space, place, isEmpty }: Room): Cut {
  let most = minus(space, ruler.frame)[0] ?? 0;
  const least = isEmpty ? 1 : PIECE_CHARS_MIN;
  while (most >= least) {
    const at = cutAt(lettersOf(sliceInlines(block.inlines, 0, most + 2)), most);
    const head = { ...block, inlines: trimmed(sliceInlines(block.inlines, 0, at)) };
    const size = ruler.sizeOf([head], place);
    const share = Math.min(...size.map((each, index) => (space[index] ?? 0) / each));
    if (share >= 1) {
      const rest = { ...block, inlines: trimmed(sliceInlines(block.inlines, at, Number.POSITIVE_INFINITY)) };
      return { head: dropBlank(head), rest: dropBlank(rest) };
    }
    most = Math.floor(at * share * 0.9);
  }
  return { head: [], rest: [block] };
}

/**
 * Cuts code at a line break in the second half of the room. Without such a line break, an empty message gets as much as fits,
 * even if that cuts a line, and any other message gets nothing. The rest has the same language.
 */
export function cutCode(code: Code, { ruler, space, isEmpty }: Room): Cut {
  const most = minus(space, ruler.frame)[0] ?? 0;
  if (most < (isEmpty ? 1 : PIECE_CHARS_MIN)) return { head: [], rest: [code] };
  const line = code.text.lastIndexOf('\n', most);
  if (line * 2 < most && !isEmpty) return { head: [], rest: [code] };
  const at = line * 2 < most ? headOf(code.text, most).length : line;
  const rest = code.text.slice(at).replace(/^(?:[^\S\n]*\n)+/, '');
  return { head: [{ ...code, text: code.text.slice(0, at).trimEnd() }], rest: [{ ...code, text: rest }] };
}

function dropBlank(block: Prose): Block[] {
  return isBlank(lettersOf(block.inlines)) ? [] : [block];
}

/**
 * The best index, up to `most`, at which to cut a text: after a line break; failing that, after a sentence; failing that, after
 * a space; each only in the second half of the range. Failing all three, where `headOf` ends.
 */
function cutAt(text: string, most: number): number {
  const half = Math.floor(most / 2);
  const candidates = [
    text.lastIndexOf('\n', most - 1) + 1,
    half + (SENTENCES.exec(text.slice(half, most))?.[0].length ?? 0),
    text.lastIndexOf(' ', most - 1) + 1,
  ];
  // A combining mark may follow a space. A cut between the two would split a grapheme.
  const at = candidates.find((each) => each > half && headOf(text, each).length === each);
  return at ?? headOf(text, most).length;
}
