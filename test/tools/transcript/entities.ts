import type { Entity } from '../../stand-in/telegram/entities.ts';
import { type Html, html, join } from './html.ts';

type Wrap = (inner: Html, entity: Entity, words: string) => Html;

/** They have lines of their own anyway, so the line ends around them would show twice. */
const BLOCK = /^(?:pre|blockquote|expandable_blockquote)$/;
const FOLDED_LINES = 3;
const LINE_CHARS = 40;
const LINK = /^(?:https?|tg|mailto|tel):/i;

const WRAP: Readonly<Record<string, Wrap>> = {
  bold: (inner) => html`<b>${inner}</b>`,
  italic: (inner) => html`<i>${inner}</i>`,
  underline: (inner) => html`<u>${inner}</u>`,
  strikethrough: (inner) => html`<s>${inner}</s>`,
  spoiler: (inner) => html`<span class="spoiler">${inner}</span>`,
  code: (inner) => html`<code>${inner}</code>`,
  pre: (inner, { language }) => codeBlock(inner, language),
  blockquote: (inner) => html`<blockquote>${inner}</blockquote>`,
  expandable_blockquote: (inner, _, words) =>
    isFolded(words) ? foldedQuote(inner, words) : html`<blockquote>${inner}</blockquote>`,
  text_link: (inner, { url }) => link(inner, url),
  url: (inner, _, words) => link(inner, words),
  email: (inner, _, words) => link(inner, `mailto:${words}`),
  phone_number: (inner, _, words) => link(inner, `tel:${words}`),
};

/** A text with its entities. What crosses another entity is cut at its end; offsets count UTF-16 units. Pure. */
export function formattedText(text: string, entities: readonly Entity[] = []): Html {
  const sorted = entities.toSorted((one, other) => one.offset - other.offset || other.length - one.length);
  return within(text, sorted, 0, text.length);
}

/** A block of code, with its language where that is known. */
export function codeBlock(inner: Html, language: unknown): Html {
  const label =
    typeof language === 'string' && language !== '' ? html`<span class="language">${language}</span>` : undefined;
  return html`<pre>${label}<code>${inner}</code></pre>`;
}

/** An app folds what takes more than three lines. */
function isFolded(words: string): boolean {
  return words.split('\n').length > FOLDED_LINES || words.length > FOLDED_LINES * LINE_CHARS;
}

/** A quote that is folded at first. */
export function foldedQuote(inner: Html, words: string): Html {
  return html`<details class="quote"><summary>${words.split('\n')[0] ?? ''} …</summary><blockquote>${inner}</blockquote></details>`;
}

/** A link where it leads somewhere harmless; else the words alone. */
export function link(inner: Html, url: unknown): Html {
  const isLink = typeof url === 'string' && (LINK.test(url) || /^[\w-]+(?:\.[\w-]+)+(?:\/|$)/.test(url));
  if (!isLink) return html`<span class="link">${inner}</span>`;
  return html`<a href="${LINK.test(url) ? url : `https://${url}`}" rel="noreferrer">${inner}</a>`;
}

function within(text: string, entities: readonly Entity[], from: number, to: number): Html {
  const parts: Html[] = [];
  let at = from;
  for (const [index, entity] of entities.entries()) {
    const end = Math.min(entity.offset + entity.length, to);
    // It stands within the one before it, which has shown it.
    if (entity.offset < at || end <= entity.offset) continue;
    const isBlock = BLOCK.test(entity.type);
    const before = text.slice(at, entity.offset);
    parts.push(html`${isBlock ? before.replace(/\n$/, '') : before}`);
    const inner = within(text, entities.slice(index + 1), entity.offset, end);
    parts.push(wrapped(inner, entity, text.slice(entity.offset, end)));
    at = isBlock && end < to && text[end] === '\n' ? end + 1 : end;
  }
  return join([...parts, html`${text.slice(at, to)}`]);
}

function wrapped(inner: Html, entity: Entity, words: string): Html {
  const wrap = Object.hasOwn(WRAP, entity.type) ? WRAP[entity.type] : undefined;
  return wrap === undefined ? html`<span class="link">${inner}</span>` : wrap(inner, entity, words);
}
