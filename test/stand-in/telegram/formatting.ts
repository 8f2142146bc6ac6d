/**
 * Formatted text, as strictly as the API reads it: what it cannot parse is refused, and what is shown is the text
 * without its marks. Only the text matters here; entities are not computed.
 */
import { badRequest } from './refusal.ts';

const TAGS = new Set(
  'b strong i em u ins s strike del span tg-spoiler tg-emoji tg-time a code pre blockquote'.split(' '),
);

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"' };

const byteOffset = (text: string, at: number): number => Buffer.byteLength(text.slice(0, at));

function unparsable(why: string): Error {
  return badRequest(`can't parse entities: ${why}`);
}

/** The text of an HTML message. Refuses unknown tags, and tags that are not closed in order. */
export function textOfHtml(html: string): string {
  const open: string[] = [];
  let text = '';
  let at = 0;
  for (const match of html.matchAll(/<(\/?)([a-zA-Z0-9-]*)([^>]*)(>?)/g)) {
    const [whole, slash, rawName = '', , end] = match;
    const name = rawName.toLowerCase();
    text += html.slice(at, match.index);
    at = match.index + whole.length;
    const offset = byteOffset(html, match.index);
    if (end === '') throw unparsable(`Unclosed start tag at byte offset ${offset}`);
    if (!TAGS.has(name)) throw unparsable(`Unsupported start tag "${name}" at byte offset ${offset}`);
    if (slash === '') open.push(name);
    else if (open.at(-1) === name) open.pop();
    else if (open.length === 0) throw unparsable(`Unexpected end tag at byte offset ${offset}`);
    else
      throw unparsable(`Unmatched end tag at byte offset ${offset}, expected "</${open.at(-1)}>", found "</${name}>"`);
  }
  if (open.length > 0) {
    throw unparsable(`Can't find end tag corresponding to start tag "${open.at(-1)}"`);
  }
  return (text + html.slice(at)).replace(/&(?:lt|gt|amp|quot);|&#(\d+);/g, (entity, code) =>
    code === undefined ? (ENTITIES[entity] ?? entity) : String.fromCodePoint(Number(code)),
  );
}

/** The marks of MarkdownV2 that come in pairs, longest first. */
const PAIRS = ['```', '`', '||', '__', '*', '_', '~'];
const RESERVED = '_*[]()~`>#+-=|{}.!';

/** The text of a MarkdownV2 message. Refuses a reserved character that is not escaped, and a mark that never ends. */
export function textOfMarkdownV2(markdown: string): string {
  const open: { mark: string; at: number }[] = [];
  let text = '';
  let at = 0;
  while (at < markdown.length) {
    const char = markdown.charAt(at);
    const inside = open.at(-1)?.mark ?? '';
    const mark = PAIRS.find((pair) => markdown.startsWith(pair, at));
    const isCode = inside.startsWith('`');
    const startsLine = at === 0 || markdown.charAt(at - 1) === '\n';
    const link = isCode ? null : /^\]\([^)\n]*\)/.exec(markdown.slice(at));
    let step = 1;
    if (char === '\\' && at + 1 < markdown.length) {
      text += markdown.charAt(at + 1);
      step = 2;
    } else if (mark !== undefined && (!isCode || mark === inside)) {
      if (mark === inside) open.pop();
      else open.push({ mark, at });
      step = mark.length;
    } else if (char === '[' && !isCode) open.push({ mark: '[', at });
    else if (link !== null && inside === '[') {
      open.pop();
      step = link[0].length;
    } else if (!isCode && RESERVED.includes(char) && !(char === '>' && startsLine)) {
      throw unparsable(`Character '${char}' is reserved and must be escaped with the preceding '\\'`);
    } else text += char;
    at += step;
  }
  const left = open.at(-1);
  if (left === undefined) return text;
  throw unparsable(`Can't find end of the entity starting at byte offset ${byteOffset(markdown, left.at)}`);
}

/** The text that a reader sees. Without a parse mode it is the text as it was sent. */
export function visibleText(text: string, parseMode: string | undefined): string {
  switch (parseMode?.toLowerCase()) {
    case undefined:
    case '':
      return text;
    case 'html':
      return textOfHtml(text);
    case 'markdownv2':
      return textOfMarkdownV2(text);
    case 'markdown':
      return textOfMarkdown(text);
    default:
      throw badRequest('unsupported parse_mode');
  }
}

/** The old Markdown: only the four marks count, and each must end. */
function textOfMarkdown(markdown: string): string {
  let text = '';
  let at = 0;
  while (at < markdown.length) {
    const rest = markdown.slice(at);
    const entity = /^(?:```[\s\S]*?```|`[^`]*`|\*[^*]*\*|_[^_]*_|\[([^\]]*)\]\([^)]*\))/.exec(rest);
    const mark = /^[`*_[]/.exec(rest);
    if (/^\\[`*_[]/.test(rest)) {
      text += rest.charAt(1);
      at += 2;
    } else if (entity !== null) {
      text += entity[1] ?? entity[0].replace(/^(```|[`*_])|(```|[`*_])$/g, '');
      at += entity[0].length;
    } else if (mark !== null && mark[0] !== '[') {
      throw unparsable(`Can't find end of the entity starting at byte offset ${byteOffset(markdown, at)}`);
    } else {
      text += rest.charAt(0);
      at += 1;
    }
  }
  return text;
}
