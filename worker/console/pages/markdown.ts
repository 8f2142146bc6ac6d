import { raw } from 'hono/html';
import { Marked, type Tokens } from 'marked';
import type { Html } from './layout.ts';

/** Where a link of a text leads on our pages; `undefined` where its words stay words. */
export type LinkOf = (href: string) => string | undefined;

/** A text in Markdown as a piece of a page. HTML that it holds is shown as text, and pictures as their words. Pure. */
export function markdownHtml(markdown: string, linkOf: LinkOf): Html {
  const renderer = {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    image: ({ text }: Tokens.Image) => escaped(text),
    link(this: Parsing, { href, tokens }: Tokens.Link) {
      const [to, words] = [linkOf(href), this.parser.parseInline(tokens)];
      return to === undefined ? words : `<a href="${escaped(to)}">${words}</a>`;
    },
    heading(this: Parsing, { tokens }: Tokens.Heading) {
      return `<h3>${this.parser.parseInline(tokens)}</h3>`;
    },
    // As a table of a report: a narrow screen names each cell by its column.
    table(this: Parsing, { header, rows }: Tokens.Table) {
      const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`);
      const cell = ({ tokens }: Tokens.TableCell, at: number) =>
        `<td data-name="${escaped(header[at]?.text ?? '')}"><span>${this.parser.parseInline(tokens)}</span></td>`;
      const body = rows.map((cells) => `<tr>${cells.map(cell).join('')}</tr>`);
      return `<table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`;
    },
  };
  return raw(new Marked({ renderer, async: false }).parse(markdown) as string);
}

interface Parsing {
  parser: { parseInline(tokens: Tokens.Generic[]): string };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}
