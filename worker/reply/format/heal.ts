import { isOperator } from './marks.ts';

/** How much of the last paragraph, counted from its end, is searched for open marks. */
const TAIL_CHARS_MAX = 4_096;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/**
 * Matches escaped characters, inline code and the delimiters of marks. Delimiters within code are skipped with the code. An
 * underscore does not match, since an unclosed underscore is more often a part of a name.
 */
const TOKENS = /\\.|(`+)[^`]+?\1(?!`)|(`+|\*{1,3}|~~|\|\|)/gu;
/** Matches, at the end of a text, a link or an image with an incomplete URL. */
const HALF_LINK = /!?\[([^[\]\n]{0,500})\]\([^()\s]{0,2000}$/;

/**
 * Prepares an incomplete text for a preview: closes marks that the model has not closed yet (bold, italics, strikethrough,
 * spoilers, inline code), shows a link with an incomplete URL as its text, and removes an open mark that no text follows yet. A
 * code block stays open, but loses an incomplete closing fence. Pure, total.
 */
export function healMarkdown(markdown: string): string {
  if (isInCode(markdown)) return markdown.replace(/\n {0,3}[`~]{1,2}$/, '');
  const start = Math.max(markdown.lastIndexOf('\n\n') + 1, markdown.length - TAIL_CHARS_MAX, 0);
  const tail = markdown.slice(start).trimEnd().replace(HALF_LINK, '$1');
  return markdown.slice(0, start) + closeMarks(tail);
}

function isInCode(markdown: string): boolean {
  let open: string | undefined;
  for (const line of markdown.split('\n')) {
    const [, marker = '', about = ''] = FENCE.exec(line) ?? [];
    if (open === undefined) open = marker === '' || (marker[0] === '`' && about.includes('`')) ? undefined : marker;
    else if (marker.startsWith(open) && about.trim() === '') open = undefined;
  }
  return open !== undefined;
}

function closeMarks(tail: string): string {
  const open: { mark: string; end: number }[] = [];
  for (const match of tail.matchAll(TOKENS)) {
    const mark = match[2];
    if (mark === undefined) continue;
    const end = match.index + mark.length;
    const next = tail[end] ?? '';
    const isText = !mark.startsWith('`') && isOperator(tail.slice(Math.max(0, match.index - 2), match.index), next);
    if (open.at(-1)?.mark === mark) open.pop();
    else if (!isText && !/\s/.test(next)) open.push({ mark, end });
    if (mark.startsWith('`')) break;
  }
  const last = open.at(-1);
  if (last !== undefined && last.end === tail.length) {
    open.pop();
    return closeMarks(tail.slice(0, -last.mark.length).trimEnd());
  }
  const marks = open.map(({ mark }) => mark).reverse();
  return tail + marks.join('');
}
