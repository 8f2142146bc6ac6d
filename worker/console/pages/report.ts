import { html } from 'hono/html';
import { counted } from '../../../shared/base/text.ts';
import { utcTime } from '../../../shared/base/utc-time.ts';
import type { Act, Fact, Item, Name, Piece, Report, Section, Text, Verdict } from '../../report/report.ts';
import { inWords } from '../../report/words.ts';
import { actsHtml, type Way } from './acts.ts';
import { HOME, type Html } from './layout.ts';

/** What a page has besides its report. */
export interface Around {
  /** Further things that can be done. */
  acts?: readonly Act[];
  ways?: readonly Way[];
  /** The section of the runbook, to stand beside what it is about. */
  runbook?: (name: string) => Html;
}

interface Reading extends Around {
  nowMs: number;
  /** The key that its forms carry. */
  formKey: string;
}

/** A report as the body of a page. What can be done by a click has a button. Pure. */
export function reportPage(report: Report, formKey: string, around: Around = {}): Html {
  const { title, nowMs, verdict, sections, actions = [] } = report;
  const reading = { nowMs, formKey, ...around };
  const named = actions.flatMap(({ act, letter }) => act ?? (letter === undefined ? [] : [replayOf(letter)]));
  return html`${title === undefined ? '' : html`<h1>${textHtml(title, reading)}</h1>`}
${verdict === undefined ? '' : verdictHtml(verdict, reading)}
${actsHtml([...named, ...(around.acts ?? [])], formKey, around.ways)}
${sections.map((section) => sectionHtml(section, reading))}`;
}

function verdictHtml({ tone, word, reason, more = [] }: Verdict, reading: Reading): Html {
  return html`<div class="verdict ${tone}" role="status">${word === undefined ? '' : html`<h1>${word}</h1>`}
<p class="reason">${textHtml(reason, reading)}</p>
${more.map((line) => html`<p>${textHtml(line, reading)}</p>`)}</div>`;
}

function sectionHtml(section: Section, reading: Reading): Html {
  const { title, empty, intro, facts = [], table, items = [], timeline, quote, more } = section;
  const isAlone = items.length === 1;
  return html`<section>${title === undefined ? '' : html`<h2>${title}</h2>`}
${empty === undefined ? '' : html`<p class="nothing">${empty}</p>`}
${intro === undefined ? '' : html`<p>${textHtml(intro, reading)}</p>`}
${facts.length === 0 ? '' : title === undefined ? tilesHtml(facts, reading) : marksHtml(facts, reading)}
${table === undefined ? '' : tableHtml(table, reading)}
${items.length === 0 ? '' : html`<ul class="cards">${items.map((item) => itemHtml(item, isAlone, reading))}</ul>`}
${timeline === undefined ? '' : timelineHtml(timeline)}
${quote === undefined ? '' : html`<pre>${quote}</pre>`}
${more !== undefined && more.count > 0 ? html`<p class="note">and ${counted(more.count, `more ${more.noun}`)}</p>` : ''}</section>`;
}

/** Numbers side by side. */
function tilesHtml(facts: readonly Fact[], reading: Reading): Html {
  const tile = ({ name, value, note }: Fact) =>
    html`<div class="tile"><dt>${name}</dt><dd>${textHtml(value, reading)}</dd>${note === undefined ? '' : html`<dd class="note">${textHtml(note, reading)}</dd>`}</div>`;
  return html`<dl class="tiles">${facts.map(tile)}</dl>`;
}

/** States and longer words, one below the other. */
function marksHtml(facts: readonly Fact[], reading: Reading): Html {
  const mark = ({ name, value, tone }: Fact) =>
    html`<li class="${tone ?? ''}"><b>${name}</b> <span>${tone === 'bad' ? 'Trouble: ' : ''}${textHtml(value, reading)}</span></li>`;
  return html`<ul class="marks">${facts.map(mark)}</ul>`;
}

function itemHtml({ title, tone, lines, runbook }: Item, isAlone: boolean, reading: Reading): Html {
  const beside = runbook === undefined ? undefined : reading.runbook?.(runbook);
  return html`<li class="${tone}"><h3>${textHtml(title, reading)}</h3>
${lines.map((line) => html`<p>${textHtml(line, reading)}</p>`)}
${beside === undefined ? '' : html`<details class="runbook" ${isAlone ? 'open' : ''}><summary>What the runbook says</summary>${beside}</details>`}</li>`;
}

/** A narrow screen shows it as a list: each cell is named by its column. */
function tableHtml({ columns, rows }: NonNullable<Section['table']>, reading: Reading): Html {
  const cell = (text: Text, at: number) => html`<td data-name="${columns[at] ?? ''}">${textHtml(text, reading)}</td>`;
  return html`<table><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cell)}</tr>`)}</tbody></table>`;
}

function timelineHtml({ steps, fromMs }: NonNullable<Section['timeline']>): Html {
  return html`<ol class="steps">${steps.map(({ atMs, kind, text }) => {
    const when =
      atMs === undefined
        ? html`<span class="when"></span>`
        : html`<time datetime="${new Date(atMs).toISOString()}" title="${utcTime(atMs)}">+${inWords(atMs - fromMs)}</time>`;
    return html`<li class="${kind}">${when}<span>${text}</span></li>`;
  })}</ol>`;
}

function textHtml(text: Text, reading: Reading): Html {
  const pieces = Array.isArray(text) ? (text as readonly Piece[]) : [text as Piece];
  return html`${pieces.map((piece) => pieceHtml(piece, reading))}`;
}

function pieceHtml(piece: Piece, { nowMs, formKey }: Reading): Html {
  if (typeof piece !== 'object') return html`${piece}`;
  if ('letter' in piece) return actsHtml([replayOf(piece.letter), purgeOf(piece.letter)], formKey);
  if ('of' in piece) return html`<a class="id" href="${pathOf(piece)}">${piece.text ?? piece.id}</a>`;
  const exact = new Date(piece.atMs).toISOString();
  return html`<time datetime="${exact}" title="${utcTime(piece.atMs)}">${inWords(nowMs - piece.atMs)} ago</time>`;
}

function replayOf(letter: string): Act {
  return { verb: 'replay', target: letter, label: 'Put back' };
}

function purgeOf(letter: string): Act {
  return { verb: 'purge', target: letter, label: 'Remove' };
}

function pathOf({ of, id }: Name): string {
  if (of === 'letters') return `${HOME}/dead${id === '' ? '' : `?chat=${encodeURIComponent(id)}`}`;
  return `${HOME}/${of}/${encodeURIComponent(id)}`;
}
