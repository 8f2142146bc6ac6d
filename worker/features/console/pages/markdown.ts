import { html, raw } from 'hono/html';
import { Marked } from 'marked';
import type { Html } from './layout.ts';

/** A text in Markdown as HTML. HTML in the text is escaped; a link without an address in `linkOf` becomes its words. Pure. */
export function markdownHtml(markdown: string, linkOf: (href: string) => string | undefined): Html {
  const marked = new Marked({
    async: false,
    renderer: {
      html: ({ text }) => escaped(text),
      image: ({ text }) => escaped(text),
      link({ href, tokens }) {
        const [to, words] = [linkOf(href), this.parser.parseInline(tokens)];
        return to === undefined ? words : `<a href="${escaped(to)}">${words}</a>`;
      },
      heading({ tokens }) {
        return `<h3>${this.parser.parseInline(tokens)}</h3>`;
      },
    },
  });
  return raw(marked.parse(markdown) as string);
}

function escaped(text: string): string {
  return String(html`${text}`);
}
