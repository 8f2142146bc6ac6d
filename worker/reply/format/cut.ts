import { graphemePrefix } from '../../../shared/base/text.ts';
import {
  type Block,
  type Code,
  isBlank,
  lettersOf,
  type Prose,
  plain,
  sliceInlines,
  trimmed,
} from '../../../shared/flow/reply.ts';
import type { Indent } from './entities.ts';
import { minus, type Ruler, type Size } from './ruler.ts';
import { headOf } from './width.ts';

/** The rest of a message, and where in it the next block stands. */
export interface Room {
  readonly ruler: Ruler;
  readonly left: Size;
  readonly place: Indent;
  /** Nothing is in the message yet: if it does not fit here, it fits nowhere. */
  readonly isEmpty: boolean;
}

/** The blocks that go into the message, and those after it. Together they are what was cut. */
export interface Cut {
  readonly head: readonly Block[];
  readonly rest: readonly Block[];
}

/** A piece of a text that is shorter than this is not worth a cut. */
const PIECE_CHARS_MIN = 200;
const SENTENCE_END = /[.!?…]["'”’)\]]*\s+|[。！？]["'”’」』）]*/g;

/** Cuts a paragraph or a heading: at a line, else a sentence, else a space, else a grapheme. */
export function cutProse(block: Prose, { ruler, left, place, isEmpty }: Room): Cut {
  const length = lettersOf(block.inlines).length;
  let most = Math.min(length - 1, minus(left, ruler.frame)[0] ?? 0);
  const least = isEmpty ? 1 : PIECE_CHARS_MIN;
  while (most >= least) {
    const at = cutAt(lettersOf(sliceInlines(block.inlines, 0, most + 2)), most);
    const head = { ...block, inlines: trimmed(sliceInlines(block.inlines, 0, at)) };
    const size = ruler.sizeOf([head], place);
    const share = Math.min(...size.map((each, index) => (left[index] ?? 0) / Math.max(1, each)));
    if (share >= 1) {
      const rest = { ...block, inlines: trimmed(sliceInlines(block.inlines, at, length)) };
      return { head: visible(head), rest: visible(rest) };
    }
    most = Math.min(at - 1, Math.floor(at * share * 0.9));
  }
  return { head: [], rest: [block] };
}

/** Cuts code between two lines, and within one only if it would fit nowhere. The rest has the same language. */
export function cutCode(code: Code, { ruler, left, isEmpty }: Room): Cut {
  const most = minus(left, ruler.frame)[0] ?? 0;
  if (most < (isEmpty ? 1 : PIECE_CHARS_MIN)) return { head: [], rest: [code] };
  const line = code.text.lastIndexOf('\n', most);
  if (line * 2 < most && !isEmpty) return { head: [], rest: [code] };
  const at = line * 2 < most ? headOf(code.text, most).length : line;
  const rest = code.text.slice(at).replace(/^(?:[^\S\n]*\n)+/, '');
  return {
    head: [{ ...code, text: code.text.slice(0, at).trimEnd() }].filter(({ text }) => !isBlank(text)),
    rest: [{ ...code, text: rest }].filter(({ text }) => !isBlank(text)),
  };
}

/** Cuts what nothing else can cut, as text. Takes at least one character. */
export function cutAsText(text: string, chars: number): Cut {
  const at = text.length > chars ? cutAt(text, chars) : text.length;
  const pieces = [text.slice(0, at), text.slice(at)].map((each): Block[] => {
    return visible({ type: 'paragraph', inlines: [plain(each.trim())] });
  });
  return { head: pieces[0] ?? [], rest: pieces[1] ?? [] };
}

function visible(block: Prose): Block[] {
  return isBlank(lettersOf(block.inlines)) ? [] : [block];
}

/** The best place to cut a text at most `most` units after its beginning, in the second half of them. */
function cutAt(text: string, most: number): number {
  const half = Math.floor(most / 2);
  const candidates = [
    text.lastIndexOf('\n', most - 1) + 1,
    sentenceEnd(text, half, most),
    text.lastIndexOf(' ', most - 1) + 1,
  ];
  const at = candidates.find((each) => each > half);
  // A mark may combine with the space before it.
  if (at !== undefined && graphemePrefix(text, at).length === at) return at;
  return headOf(text, most).length;
}

function sentenceEnd(text: string, from: number, to: number): number {
  let end = 0;
  for (const match of text.slice(from, to).matchAll(SENTENCE_END)) end = from + match.index + match[0].length;
  return end;
}
