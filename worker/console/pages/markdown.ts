import { html } from 'hono/html';
import { lexer, type Token, type Tokens } from 'marked';
import type { Html } from './layout.ts';

/** Where a link of a text leads on our pages; `undefined` where its words stay words. */
export type LinkOf = (href: string) => string | undefined;

/** A text in Markdown as a piece of a page. Everything in it is escaped: HTML that it holds is shown as text. Pure. */
export function markdownHtml(markdown: string, linkOf: LinkOf): Html {
  return many(lexer(markdown), linkOf);
}

function many(tokens: readonly Token[] | undefined, linkOf: LinkOf): Html {
  return html`${(tokens ?? []).map((token) => one(token as Tokens.Generic, linkOf))}`;
}

/** What is not known to us is shown as it was written. */
function one(token: Tokens.Generic, linkOf: LinkOf): Html {
  const inner = () => many(token.tokens, linkOf);
  switch (token.type) {
    case 'space':
      return html` `;
    case 'paragraph':
      return html`<p>${inner()}</p>`;
    case 'heading':
      return html`<h3>${inner()}</h3>`;
    case 'code':
      return html`<pre>${token.text}</pre>`;
    case 'codespan':
      return html`<code>${token.text}</code>`;
    case 'strong':
      return html`<b>${inner()}</b>`;
    case 'em':
      return html`<i>${inner()}</i>`;
    case 'list':
      return listHtml(token as Tokens.List, linkOf);
    case 'table':
      return tableHtml(token as Tokens.Table, linkOf);
    case 'link':
      return linkHtml(linkOf(token.href), inner());
    default:
      return token.tokens === undefined ? html`${token.text ?? token.raw}` : inner();
  }
}

function linkHtml(href: string | undefined, words: Html): Html {
  return href === undefined ? words : html`<a href="${href}">${words}</a>`;
}

function listHtml({ ordered, items }: Tokens.List, linkOf: LinkOf): Html {
  const all = items.map(({ tokens }) => html`<li>${many(tokens, linkOf)}</li>`);
  return ordered ? html`<ol>${all}</ol>` : html`<ul>${all}</ul>`;
}

/** As a table of a report: a narrow screen names each cell by its column. */
function tableHtml({ header, rows }: Tokens.Table, linkOf: LinkOf): Html {
  const cell = (each: Tokens.TableCell, at: number) =>
    html`<td data-name="${header[at]?.text ?? ''}"><span>${many(each.tokens, linkOf)}</span></td>`;
  return html`<table><thead><tr>${header.map(({ tokens }) => html`<th scope="col">${many(tokens, linkOf)}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cell)}</tr>`)}</tbody></table>`;
}
