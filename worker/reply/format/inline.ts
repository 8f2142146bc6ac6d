import type { Token, Tokens } from 'marked';
import { type Emphasis, type Inline, lettersOf, plain } from '../../../shared/flow/reply.ts';
import type { OwnToken } from './grammar.ts';
import { decodeReferences, destinationOf, linkUrl } from './link.ts';

/** How deeply marks such as bold may nest. Deeper marks appear as they were written. */
const MARKS_DEPTH_MAX = 8;
const EMPHASIS: Readonly<Record<string, Emphasis>> = {
  strong: 'bold',
  em: 'italic',
  del: 'strike',
  spoiler: 'spoiler',
};

/** The inlines of the tokens of a paragraph, a heading or a cell. */
export function inlinesOf(tokens: readonly Token[] | undefined, depth = 0): Inline[] {
  const all = tokens ?? [];
  return joinTexts(all.flatMap((token, at) => inlineOf(token as Tokens.Generic, depth, all[at - 1]?.raw ?? '')));
}

function inlineOf(token: Tokens.Generic, depth: number, before: string): Inline[] {
  if (depth > MARKS_DEPTH_MAX) return [plain(token.raw)];
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'spoiler':
      return emphasisOf(token, depth);
    case 'del':
      // A single tilde means "about", as in "~5 to ~6", so it is not strikethrough.
      return token.raw.startsWith('~~')
        ? emphasisOf(token, depth)
        : [plain('~'), ...inlinesOf(token.tokens, depth), plain('~')];
    case 'codespan':
      return token.text === '' ? [] : [{ type: 'code', text: token.text }];
    case 'formula':
      return [{ type: 'formula', text: token.text.trim() }];
    case 'br':
      return [plain('\n')];
    case 'html':
      return [plain(/^<br\s*\/?>$/i.test(token.raw) ? '\n' : token.raw)];
    case 'link':
      return linkOf(token as Tokens.Link, depth, before);
    case 'image':
      return imageOf(token as Tokens.Image);
    case 'checkbox':
      return [];
    default:
      return otherOf(token, depth);
  }
}

function otherOf(token: Tokens.Generic, depth: number): Inline[] {
  if (token.type === 'noteRef') return [plain(`[${(token as OwnToken & { type: 'noteRef' }).label}]`)];
  if (token.type === 'escape') return [plain(token.text)];
  if (token.tokens !== undefined) return inlinesOf(token.tokens, depth);
  // Use `raw`, because in `text` the lexer has already replaced numeric character references.
  return [plain(decodeReferences(token.raw).replace(/(?<![ \t])[ \t]+\n/g, '\n'))];
}

function emphasisOf(token: Tokens.Generic, depth: number): Inline[] {
  const inlines = inlinesOf(token.tokens, depth + 1);
  const type = EMPHASIS[token.type];
  return type === undefined || inlines.length === 0 ? [plain(token.raw)] : [{ type, inlines }];
}

function linkOf(token: Tokens.Link, depth: number, before: string): Inline[] {
  const url = linkUrl(token.href);
  // This is code that calls an element of an array or object, such as `handlers[name](input)`.
  if (url === undefined && /\w$/.test(before)) return [plain(token.raw)];
  if (token.autolink) {
    return url === token.text ? [{ type: 'link', url, inlines: [plain(url)] }] : [plain(token.text)];
  }
  const inlines = inlinesOf(token.tokens, depth + 1);
  return asLink(inlines, url, token);
}

function imageOf(token: Tokens.Image): Inline[] {
  const url = linkUrl(token.href);
  const text = lettersOf(inlinesOf(token.tokens)) || (url ?? '');
  return asLink(text === '' ? [] : [plain(text)], url, token);
}

function asLink(inlines: readonly Inline[], url: string | undefined, { href, title, raw }: Tokens.Link | Tokens.Image) {
  const text = lettersOf(inlines);
  const caption = title && title !== text ? ` (${decodeReferences(title)})` : '';
  const whole: readonly Inline[] =
    url === undefined
      ? [...inlines, plain(destinationOf(href, text))]
      : [{ type: 'link', url, inlines: text.trim() === '' ? [plain(url)] : inlines }];
  const result = [...whole, plain(caption)];
  return lettersOf(result).trim() === '' ? [plain(raw)] : result;
}

/** Joins neighbouring texts. */
function joinTexts(inlines: readonly Inline[]): Inline[] {
  const result: Inline[] = [];
  let texts: string[] = [];
  const flush = () => {
    const text = texts.join('');
    if (text !== '') result.push(plain(text));
    texts = [];
  };
  for (const inline of inlines) {
    if (inline.type === 'text') texts.push(inline.text);
    else {
      flush();
      result.push(inline);
    }
  }
  flush();
  return result;
}
