import {
  plainRichText,
  plainText,
  type RichBlock,
  type RichNode,
  type RichText,
} from '../../stand-in/telegram/rich-message.ts';
import { codeBlock, foldedQuote, link } from './entities.ts';
import { type Html, html } from './html.ts';

interface Cell {
  text?: RichText;
  is_header?: true;
  align?: string;
  colspan?: number;
  rowspan?: number;
}

interface Item {
  label: string;
  blocks: RichBlock[];
  has_checkbox?: true;
  is_checked?: true;
}

type Fields = Record<string, never> & {
  text: RichText;
  summary: RichText;
  language?: string;
  size: number;
  expression: string;
  blocks: RichBlock[];
  items: Item[];
  cells: Cell[][];
  is_open?: true;
};

const BLOCK: Readonly<Record<string, (fields: Fields) => Html>> = {
  paragraph: ({ text }) => html`<p>${richText(text)}</p>`,
  heading: ({ text, size }) => html`<p class="heading size-${size}">${richText(text)}</p>`,
  pre: ({ text, language }) => codeBlock(richText(text), language),
  footer: ({ text }) => html`<p class="footer">${richText(text)}</p>`,
  divider: () => html`<hr>`,
  mathematical_expression: ({ expression }) => html`<p class="formula">${expression}</p>`,
  anchor: () => html``,
  list: ({ items }) => html`<ul class="rich">${items.map(listItem)}</ul>`,
  blockquote: ({ blocks }) => html`<blockquote>${richBlocks(blocks)}</blockquote>`,
  expandable_blockquote: ({ text }) => foldedQuote(richText(text), plainRichText(text)),
  pullquote: ({ text }) => html`<blockquote>${richText(text)}</blockquote>`,
  table: ({ cells }) =>
    html`<div class="wide"><table>${cells.map((row) => html`<tr>${row.map(tableCell)}</tr>`)}</table></div>`,
  details: ({ summary, blocks, is_open }) =>
    is_open
      ? html`<details open><summary>${richText(summary)}</summary>${richBlocks(blocks)}</details>`
      : html`<details><summary>${richText(summary)}</summary>${richBlocks(blocks)}</details>`,
  thinking: ({ text }) => html`<p class="thinking">${richText(text)}</p>`,
};

const TEXT: Readonly<Record<string, (inner: Html, node: RichNode) => Html>> = {
  bold: (inner) => html`<b>${inner}</b>`,
  italic: (inner) => html`<i>${inner}</i>`,
  underline: (inner) => html`<u>${inner}</u>`,
  strikethrough: (inner) => html`<s>${inner}</s>`,
  spoiler: (inner) => html`<span class="spoiler">${inner}</span>`,
  subscript: (inner) => html`<sub>${inner}</sub>`,
  superscript: (inner) => html`<sup>${inner}</sup>`,
  marked: (inner) => html`<mark>${inner}</mark>`,
  code: (inner) => html`<code>${inner}</code>`,
  url: (inner, { url }) => link(inner, url),
  mathematical_expression: (_, { expression }) => html`<span class="formula">${String(expression)}</span>`,
  custom_emoji: (_, { alternative_text }) => html`${String(alternative_text)}`,
};

/** The blocks of a rich message. A kind that has no look here is shown as its words. Pure. */
export function richBlocks(blocks: readonly RichBlock[]): Html {
  return html`${blocks.map((block) => {
    const show = Object.hasOwn(BLOCK, block.type) ? BLOCK[block.type] : undefined;
    return show === undefined ? html`<p class="footer">${block.type}: ${plainText([block])}</p>` : show(block as never);
  })}`;
}

function richText(text: RichText): Html {
  if (typeof text === 'string') return html`${text}`;
  if (Array.isArray(text)) return html`${text.map(richText)}`;
  const inner = text.text === undefined ? html`` : richText(text.text);
  const show = Object.hasOwn(TEXT, text.type) ? TEXT[text.type] : undefined;
  return show === undefined ? html`<span class="link">${inner}</span>` : show(inner, text);
}

function listItem({ label, blocks, has_checkbox, is_checked }: Item): Html {
  const mark = has_checkbox ? (is_checked ? '☑' : '☐') : label;
  return html`<li><span class="mark">${mark}</span><div>${richBlocks(blocks)}</div></li>`;
}

function tableCell({ text = '', is_header, align = 'left', colspan = 1, rowspan = 1 }: Cell): Html {
  const inner = richText(text);
  return is_header
    ? html`<th class="${align}" colspan="${colspan}" rowspan="${rowspan}">${inner}</th>`
    : html`<td class="${align}" colspan="${colspan}" rowspan="${rowspan}">${inner}</td>`;
}
