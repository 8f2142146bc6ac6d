import { html } from 'hono/html';
import { utcTime } from '../../../shared/base/utc-time.ts';
import { counted, inWords } from '../../report/words.ts';
import { HOME, type Html } from './layout.ts';

/** A heading with what stands below it. Pure. */
export function section(title: string, body: Html): Html {
  return html`<section><h2>${title}</h2>${body}</section>`;
}

/** A sentence in place of an empty list. Pure. */
export function nothing(text: string): Html {
  return html`<p class="nothing">${text}</p>`;
}

/** A number with its name. Pure. */
export function tile(name: string, value: string | number | Html, note: string | Html = ''): Html {
  return html`<div class="tile"><dt>${name}</dt><dd>${value}</dd>${note === '' ? '' : html`<dd class="note">${note}</dd>`}</div>`;
}

/** Numbers side by side. Pure. */
export function tiles(...all: Html[]): Html {
  return html`<dl class="tiles">${all}</dl>`;
}

/** A table that a narrow screen shows as a list: each cell is named by its column. Pure. */
export function table(columns: readonly string[], rows: readonly (readonly (string | number | Html)[])[]): Html {
  return html`<table><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells) => html`<tr>${cells.map((cell, at) => html`<td data-name="${columns[at] ?? ''}">${cell}</td>`)}</tr>`,
  )}</tbody></table>`;
}

/** How long ago something was, with the exact time for who points at it. Pure. */
export function ago(atMs: number, nowMs: number): Html {
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${utcTime(atMs)}">${inWords(nowMs - atMs)} ago</time>`;
}

/** A link to the page of a message, which may be in one of several shards. Pure. */
export function messageLink(entry: string): Html {
  return html`<a class="id" href="${HOME}/message/${encodeURIComponent(entry)}">${entry}</a>`;
}

/** A link to the page of a chat. Pure. */
export function chatLink(chat: string): Html {
  return html`<a class="id" href="${HOME}/chat/${encodeURIComponent(chat)}">${chat}</a>`;
}

/** Says that there are more than are shown. Pure. */
export function more(count: number, noun: string): Html | string {
  return count > 0 ? html`<p class="note">and ${counted(count, `more ${noun}`)}</p>` : '';
}
