import { html } from 'hono/html';
import { counted } from '../../../../shared/base/text.ts';
import { utcTime } from '../../../../shared/base/wall-time.ts';
import type { Option } from '../../../report/arguments.ts';
import {
  type ActionButton,
  type Fact,
  type Item,
  type Name,
  type Piece,
  piecesOf,
  type Report,
  type Section,
  type Text,
  type Verdict,
} from '../../../report/report.ts';
import { inWords } from '../../../report/words.ts';
import { buttonsHtml } from './acts.ts';
import { HOME, type Html } from './layout.ts';

/** The data that a page needs in addition to its report. */
interface PageContext {
  nowMs: number;
  formKey: string;
  runbook: (name: string) => Html;
}

/** The title of a report as plain text. Pure. */
export function reportTitle({ title, verdict }: Report): string {
  const pieces = piecesOf(title ?? verdict?.word ?? 'Spillway');
  return pieces.map((piece) => (typeof piece === 'object' && 'id' in piece ? piece.id : String(piece))).join('');
}

/** A report as the body of a page, with buttons for its actions. Pure. */
export function reportHtml({ title, verdict, sections, actions = [] }: Report, context: PageContext): Html {
  const buttons = actions.flatMap(({ act }) => act ?? []);
  return html`${title === undefined ? '' : html`<h1>${textHtml(title, context)}</h1>`}
${verdict === undefined ? '' : verdictHtml(verdict, context)}
${buttonsHtml(buttons, context.formKey)}
${sections.map((section) => sectionHtml(section, context))}`;
}

/** The form with the options of a report that take a value; empty if there are none. Pure. */
export function optionsForm(
  path: string,
  options: Readonly<Record<string, Option>>,
  values: Readonly<Record<string, string>>,
): Html {
  const fields = Object.entries(options).filter(([, { as }]) => as !== undefined);
  if (fields.length === 0) return html``;
  const field = ([name, { as }]: [string, Option]) =>
    html`<input name="${name}" aria-label="${name}" placeholder="${name}: ${as}" value="${values[name] ?? ''}">`;
  return html`<form class="search" action="${path}">${fields.map(field)}<button>Show</button></form>`;
}

/** Links to the pages that match an ambiguous name. Pure. */
export function choicesHtml(choices: readonly Name[]): Html {
  return html`${choices.map((name) => html`<p>${nameHtml(name)}</p>`)}`;
}

function verdictHtml({ tone, word, reason, more = [] }: Verdict, context: PageContext): Html {
  return html`<div class="verdict ${tone}" role="status">${word === undefined ? '' : html`<h1>${word}</h1>`}
<p class="reason">${textHtml(reason, context)}</p>
${more.map((line) => html`<p>${textHtml(line, context)}</p>`)}</div>`;
}

function sectionHtml(section: Section, context: PageContext): Html {
  const { title, empty, intro, facts = [], table, items = [], timeline, quote, more } = section;
  const isOnlyItem = items.length === 1;
  return html`<section>${title === undefined ? '' : html`<h2>${title}</h2>`}
${empty === undefined ? '' : html`<p class="nothing">${empty}</p>`}
${intro === undefined ? '' : html`<p>${textHtml(intro, context)}</p>`}
${title === undefined ? tilesHtml(facts, context) : marksHtml(facts, context)}
${table === undefined ? '' : tableHtml(table, context)}
${items.length === 0 ? '' : html`<ul class="cards">${items.map((item) => itemHtml(item, isOnlyItem, context))}</ul>`}
${timeline === undefined ? '' : timelineHtml(timeline)}
${quote === undefined ? '' : html`<pre>${quote}</pre>`}
${more !== undefined && more.count > 0 ? html`<p class="note">and ${counted(more.count, `more ${more.noun}`)}</p>` : ''}</section>`;
}

/** Facts as tiles side by side, for numbers. */
function tilesHtml(facts: readonly Fact[], context: PageContext): Html {
  if (facts.length === 0) return html``;
  const tile = ({ name, value, note }: Fact) =>
    html`<div class="tile"><dt>${name}</dt><dd>${textHtml(value, context)}</dd>${note === undefined ? '' : html`<dd class="note">${textHtml(note, context)}</dd>`}</div>`;
  return html`<dl class="tiles">${facts.map(tile)}</dl>`;
}

/** Facts one below the other, for states and longer texts. */
function marksHtml(facts: readonly Fact[], context: PageContext): Html {
  if (facts.length === 0) return html``;
  const mark = ({ name, value, note, tone }: Fact) =>
    html`<li class="${tone ?? ''}"><b>${name}</b> <span>${tone === 'bad' ? 'Trouble: ' : ''}${textHtml(value, context)}${note === undefined ? '' : html`; ${textHtml(note, context)}`}</span></li>`;
  return html`<ul class="marks">${facts.map(mark)}</ul>`;
}

function itemHtml({ title, tone, severity, lines, runbook }: Item, isOnlyItem: boolean, context: PageContext): Html {
  return html`<li class="${tone}"><h3>${severity === undefined ? '' : html`<span class="severity">${severity}</span> `}${textHtml(title, context)}</h3>
${lines.map((line) => html`<p>${textHtml(line, context)}</p>`)}
${runbook === undefined ? '' : html`<details ${isOnlyItem ? 'open' : ''}><summary>What the runbook says</summary>${context.runbook(runbook)}</details>`}</li>`;
}

/** A table. On a narrow screen, where the style hides the head, each cell shows the name of its column. */
function tableHtml({ columns, rows }: NonNullable<Section['table']>, context: PageContext): Html {
  const cell = (text: Text, at: number) => html`<td data-name="${columns[at] ?? ''}">${textHtml(text, context)}</td>`;
  return html`<table><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cell)}</tr>`)}</tbody></table>`;
}

function timelineHtml({ steps, fromMs }: NonNullable<Section['timeline']>): Html {
  return html`<ol class="steps">${steps.map(({ atMs, kind, text }) => {
    const when = atMs === undefined ? html`<span class="when"></span>` : timeHtml(atMs, `+${inWords(atMs - fromMs)}`);
    return html`<li class="${kind}">${when}<span>${text}</span></li>`;
  })}</ol>`;
}

function textHtml(text: Text, context: PageContext): Html {
  return html`${piecesOf(text).map((piece) => pieceHtml(piece, context))}`;
}

function pieceHtml(piece: Piece, { nowMs, formKey }: PageContext): Html {
  if (typeof piece !== 'object') return html`${piece}`;
  if ('letter' in piece) return letterHtml(piece.letter, formKey);
  if ('of' in piece) return nameHtml(piece);
  if ('href' in piece) return html`<a class="id" href="${piece.href}">${piece.text}</a>`;
  return timeHtml(piece.atMs, `${inWords(nowMs - piece.atMs)} ago`);
}

function letterHtml(letter: string, formKey: string): Html {
  const buttons: ActionButton[] = [
    { verb: 'replay', target: letter, label: 'Put back' },
    { verb: 'purge', target: letter, label: 'Remove' },
  ];
  return html`<div><a class="id" href="${HOME}/letter/${encodeURIComponent(letter)}">${letter}</a>${buttonsHtml(buttons, formKey)}</div>`;
}

function timeHtml(atMs: number, words: string): Html {
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${utcTime(atMs)}">${words}</time>`;
}

function nameHtml({ of, id, text = id }: Name): Html {
  const at = of === 'dead' ? `?chat=${encodeURIComponent(id)}` : `/${encodeURIComponent(id)}`;
  return html`<a class="id" href="${HOME}/${of}${of === 'dead' && id === '' ? '' : at}">${text}</a>`;
}
