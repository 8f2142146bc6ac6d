import { graphemePrefix } from '../../../shared/base/text.ts';

/** The maximum number of characters for one parse: for some texts, the parsing time grows faster than the length. */
const PIECE_CHARS_MAX = 64 * 1024;
/** How deeply quotes and lists may nest. The parser calls itself for each level, so deeper nesting could exhaust the stack. */
const NESTING_MAX = 60;
const INDENT_MAX = 4 * NESTING_MAX;
/** The maximum number of characters in one paragraph that could begin a mark. */
const MARKS_MAX = 4_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/;
const MARKERS = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*/;
const MARK = /[_*~!$<[@`]/g;
const MARKER = />|[-*+](?=[ \t])|\d[.)]/g;

interface Line {
  text: string;
  /** The opening line of the code block around this line; undefined outside of blocks and in their first and last lines. */
  fence: string | undefined;
  /** Whether this line ends a code block. */
  isEnd: boolean;
}

/**
 * Cuts a text that is longer than `maxChars` into pieces that can be parsed one by one: at blank lines; failing that, at other
 * line breaks; or within a line that is too long itself. If a cut falls inside a code block, closes the block before the cut
 * and reopens it after the cut. The last line of a code block stays in the block's piece, even if the piece is full.
 */
export function piecesOf(text: string, maxChars = PIECE_CHARS_MAX): string[] {
  if (text.length <= maxChars) return [text];
  const pieces: string[] = [];
  let lines: string[] = [];
  let length = 0;
  let blankAt = 0;
  const close = (count: number, end = '') => {
    pieces.push(lines.slice(0, count).join('\n') + end);
    lines = lines.slice(count);
    length = lines.reduce((sum, line) => sum + line.length + 1, 0);
    blankAt = 0;
  };
  for (const { text: line, fence, isEnd } of linesOf(text, maxChars)) {
    if (length + line.length > maxChars && lines.length > 0 && !isEnd) {
      if (blankAt > 0) close(blankAt);
      else if (fence === undefined) close(lines.length);
      else {
        close(lines.length, `\n${markerOf(fence)}`);
        lines = [fence];
        length = fence.length;
      }
    }
    lines.push(line);
    length += line.length + 1;
    if (fence === undefined && line.trim() === '') blankAt = lines.length;
  }
  close(lines.length);
  return pieces;
}

/**
 * Whether the parser can read a text in time: quotes and lists do not nest too deeply, and no paragraph has thousands of marks.
 * The parser's time grows with the square of the number of marks.
 */
export function isReadable(text: string): boolean {
  let marks = 0;
  for (const { text: line, fence } of linesOf(text, PIECE_CHARS_MAX)) {
    if (fence !== undefined) continue;
    marks = line.trim() === '' ? 0 : marks + (line.match(MARK)?.length ?? 0);
    if (marks > MARKS_MAX || isTooDeep(line)) return false;
  }
  return true;
}

function isTooDeep(line: string): boolean {
  const markers = MARKERS.exec(line)?.[0] ?? '';
  if ((markers.match(MARKER)?.length ?? 0) > NESTING_MAX) return true;
  return markers.length - markers.trimStart().length > INDENT_MAX && markers.trim() !== '';
}

function* linesOf(text: string, maxChars: number): Generator<Line> {
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const [, marker = '', about = ''] = FENCE.exec(line) ?? [];
    const open = fence;
    if (marker !== '' && open === undefined && !(marker.startsWith('`') && about.includes('`'))) fence = line;
    else if (open !== undefined && marker.startsWith(markerOf(open)) && about.trim() === '') fence = undefined;
    // A cut before the opening line of a block lies outside of the block, so the block is not reopened there.
    const isEnd = open !== undefined && fence === undefined;
    for (const part of partsOf(line, maxChars))
      yield { text: part, fence: fence === undefined ? undefined : open, isEnd };
  }
}

function* partsOf(line: string, maxChars: number): Generator<string> {
  let rest = line;
  while (rest.length > maxChars) {
    const head = graphemePrefix(rest, maxChars) || rest.slice(0, maxChars);
    yield head;
    rest = rest.slice(head.length);
  }
  yield rest;
}

function markerOf(fence: string): string {
  return FENCE.exec(fence)?.[1] ?? '```';
}
