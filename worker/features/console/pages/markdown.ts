import { html, raw } from 'hono/html';
import { Marked } from 'marked';
import type { Html } from './layout.ts';

/** Renders Markdown as HTML, and escapes HTML in it. If `linkOf` returns `undefined`, only the text of a link remains. Pure. */
export function markdownHtml(markdown: string, linkOf: (href: string) => string | undefined): Html {
  const marked = new Marked({
    async: false,
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      link({ href, tokens }) {
        const [to, words] = [linkOf(href), this.parser.parseInline(tokens)];
        return to === undefined ? words : `<a href="${escapeHtml(to)}">${words}</a>`;
      },
      heading({ tokens }) {
        return `<h3>${this.parser.parseInline(tokens)}</h3>`;
      },
    },
  });
  return raw(marked.parse(markdown) as string);
}

function escapeHtml(text: string): string {
  return String(html`${text}`);
}
