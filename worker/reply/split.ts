import { graphemePrefix } from '../../shared/base/text.ts';

/** Telegram's limit for a text message, in UTF-16 units. */
export const MESSAGE_CHARS_MAX = 4_096;
/** Leaves room for the notice that a part may be a repeat. */
export const PART_CHARS_MAX = 4_000;

/** A line that opens or closes a code block: the fence, and what is said about the code. */
const FENCE = /^ {0,3}(?:(`{3,16})([^`\n]{0,100})|(~{3,16})([^\n]{0,100}))$/gm;
/** Room for closing and reopening a code block that a cut goes through. */
const FENCE_ROOM = 48;
const REOPENED_CHARS_MAX = 24;

interface Fence {
  marker: string;
  /** The language, and whatever else follows the marker. */
  info: string;
  line: string;
  /** Where the line ends. */
  end: number;
}

/**
 * Splits a text into parts that Telegram takes, in order, losing only white space at the cuts. Cuts at a paragraph,
 * else a line, else a sentence, else a space, else a grapheme; a code block that a cut goes through is closed and
 * reopened. A part is never blank. Pure. Ends for every text: each round takes at least a quarter of a part, which is
 * more than it puts back. `maxChars` is at least 400.
 */
export function splitReply(text: string, maxChars = PART_CHARS_MAX): string[] {
  const parts: string[] = [];
  let rest = text.toWellFormed().trim();
  while (rest.length > maxChars) {
    const head = headOf(rest, cutAt(rest, maxChars - FENCE_ROOM));
    const said = head.trimEnd();
    const tail = rest.slice(head.length);
    const fence = openFence(said);
    if (fence === undefined) {
      parts.push(said);
      rest = tail.trimStart();
    } else if (fence.end === said.length) {
      // None of the code fits any more: the whole block starts in the next part.
      parts.push(said.slice(0, -fence.line.length).trimEnd());
      rest = `${fence.line}\n${withoutBlankLines(tail)}`;
    } else {
      parts.push(`${said}\n${fence.marker}`);
      rest = goOn(rest, head.length, fence);
    }
  }
  parts.push(rest);
  return parts.filter((part) => part.trim() !== '');
}

function cutAt(text: string, maxChars: number): number {
  const half = Math.floor(maxChars / 2);
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = text.lastIndexOf(mark, maxChars - mark.length);
    if (at >= half) return at + mark.length;
  }
  return maxChars;
}

/** Whole graphemes, unless one is so long that little else would remain. */
function headOf(text: string, chars: number): string {
  const head = graphemePrefix(text, chars);
  return head.length * 2 > chars ? head : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');
}

/** The fence of a code block that is still open at the end of a text. */
function openFence(text: string): Fence | undefined {
  let open: Fence | undefined;
  for (const match of text.matchAll(FENCE)) {
    const [line, ticks, about, tildes, aboutTildes] = match;
    const fence = {
      marker: ticks ?? tildes ?? '',
      info: about ?? aboutTildes ?? '',
      line,
      end: match.index + line.length,
    };
    if (open === undefined) open = fence;
    else if (closes(fence, open)) open = undefined;
  }
  return open;
}

/** A block is closed by a fence of its own kind, at least as long, with nothing after it. */
function closes(fence: Pick<Fence, 'marker' | 'info'>, open: Fence): boolean {
  return fence.marker.startsWith(open.marker) && fence.info.trim() === '';
}

/** The text after a cut in a code block: the reopened block, or what comes after a block that ended at the cut. */
function goOn(text: string, cut: number, open: Fence): string {
  // A fence stands at the start of a line: the line break before it may be on the other side of the cut.
  const tail = text.slice(text[cut - 1] === '\n' ? cut - 1 : cut);
  const end = /^\s*\n {0,3}(`{3,16}|~{3,16})[ \t]*(?:\n|$)/.exec(tail);
  if (end?.[1] !== undefined && closes({ marker: end[1], info: '' }, open))
    return tail.slice(end[0].length).trimStart();
  const info = graphemePrefix(open.info, REOPENED_CHARS_MAX - open.marker.length);
  return `${open.marker}${info}\n${withoutBlankLines(text.slice(cut))}`;
}

function withoutBlankLines(code: string): string {
  return code.replace(/^(?:[ \t]*\n)+/, '');
}
