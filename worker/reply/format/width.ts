import { graphemePrefix } from '../../../shared/base/text.ts';

const graphemes = new Intl.Segmenter('und');

/** Matches a text in which each character takes one column, as in most texts. */
const NARROW = /^[\x20-\x7e\u00a1-\u02ff]*$/;
const INVISIBLE = /^[\p{M}\p{Cf}\p{Cc}]+$/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

/** Estimates how many columns a text takes in a monospaced font. A CJK character or an emoji takes two. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Breaks a text into lines that are at most `columns` wide: at spaces, and within a word that is longer than a line. */
export function wrapLines(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => (widthOf(line) <= columns ? [line] : wrapLine(line, columns)));
}

function wrapLine(line: string, columns: number): string[] {
  const graphemesOf = (word: string) => [...graphemes.segment(word)].map(({ segment }) => segment);
  const pieces = line.split(' ').flatMap((word) => fill(graphemesOf(word), '', columns));
  return fill(pieces, ' ', columns);
}

/** Joins units to lines that are at most `columns` wide. A unit that is wider gets a line of its own. */
function fill(units: readonly string[], separator: string, columns: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const unit of units) {
    const longer = current === '' ? unit : `${current}${separator}${unit}`;
    if (current !== '' && widthOf(longer) > columns) {
      lines.push(current);
      current = unit;
    } else current = longer;
  }
  return [...lines, current];
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
}

/** The beginning of a text, up to `chars` UTF-16 units: whole graphemes, unless they fill half of `chars` or less. */
export function headOf(text: string, chars: number): string {
  const head = graphemePrefix(text, chars);
  return head.length * 2 > chars ? head : text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, '');
}
