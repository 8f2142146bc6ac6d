import { html } from 'hono/html';
import { counted } from '../../../../shared/base/text.ts';
import { utcTime } from '../../../../shared/base/wall-time.ts';
import type { Option } from '../../../report/arguments.ts';
import {
  type Act,
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
import { actsHtml } from './acts.ts';
import { HOME, type Html } from './layout.ts';

/** Data that a page needs besides its report. */
interface Reading {
  nowMs: number;
  /** The key that its forms carry. */
  formKey: string;
  /** A section of the runbook. */
  runbook: (name: string) => Html;
}

/** The title of a report in plain words. Pure. */
export function reportTitle({ title, verdict }: Report): string {
  const pieces = piecesOf(title ?? verdict?.word ?? 'Spillway');
  return pieces.map((piece) => (typeof piece === 'object' && 'id' in piece ? piece.id : String(piece))).join('');
}

/** A report as the body of a page, with buttons for its acts. Pure. */
export function reportHtml({ title, verdict, sections, actions = [] }: Report, reading: Reading): Html {
  const acts = actions.flatMap(({ act }) => act ?? []);
  return html`${title === undefined ? '' : html`<h1>${textHtml(title, reading)}</h1>`}
${verdict === undefined ? '' : verdictHtml(verdict, reading)}
${actsHtml(acts, reading.formKey)}
${sections.map((section) => sectionHtml(section, reading))}`;
}

/** A form for the options of a report, except for those without a value. Pure. */
export function optionsForm(
  path: string,
  options: Readonly<Record<string, Option>>,
  given: Readonly<Record<string, string>>,
): Html {
  const fields = Object.entries(options).filter(([, { as }]) => as !== undefined);
  if (fields.length === 0) return html``;
  const field = ([name, { as }]: [string, Option]) =>
    html`<input name="${name}" aria-label="${name}" placeholder="${name}: ${as}" value="${given[name] ?? ''}">`;
  return html`<form class="search" action="${path}">${fields.map(field)}<button>Show</button></form>`;
}

/** Links to the pages that an unknown name may mean. Pure. */
export function choicesHtml(choices: readonly Name[]): Html {
  return html`${choices.map((name) => html`<p>${nameHtml(name)}</p>`)}`;
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
${title === undefined ? tilesHtml(facts, reading) : marksHtml(facts, reading)}
${table === undefined ? '' : tableHtml(table, reading)}
${items.length === 0 ? '' : html`<ul class="cards">${items.map((item) => itemHtml(item, isAlone, reading))}</ul>`}
${timeline === undefined ? '' : timelineHtml(timeline)}
${quote === undefined ? '' : html`<pre>${quote}</pre>`}
${more !== undefined && more.count > 0 ? html`<p class="note">and ${counted(more.count, `more ${more.noun}`)}</p>` : ''}</section>`;
}

/** Numbers side by side. */
function tilesHtml(facts: readonly Fact[], reading: Reading): Html {
  if (facts.length === 0) return html``;
  const tile = ({ name, value, note }: Fact) =>
    html`<div class="tile"><dt>${name}</dt><dd>${textHtml(value, reading)}</dd>${note === undefined ? '' : html`<dd class="note">${textHtml(note, reading)}</dd>`}</div>`;
  return html`<dl class="tiles">${facts.map(tile)}</dl>`;
}

/** States and longer texts, one below the other. */
function marksHtml(facts: readonly Fact[], reading: Reading): Html {
  if (facts.length === 0) return html``;
  const mark = ({ name, value, note, tone }: Fact) =>
    html`<li class="${tone ?? ''}"><b>${name}</b> <span>${tone === 'bad' ? 'Trouble: ' : ''}${textHtml(value, reading)}${note === undefined ? '' : html`; ${textHtml(note, reading)}`}</span></li>`;
  return html`<ul class="marks">${facts.map(mark)}</ul>`;
}

function itemHtml({ title, tone, severity, lines, runbook }: Item, isAlone: boolean, reading: Reading): Html {
  return html`<li class="${tone}"><h3>${severity === undefined ? '' : html`<span class="severity">${severity}</span> `}${textHtml(title, reading)}</h3>
${lines.map((line) => html`<p>${textHtml(line, reading)}</p>`)}
${runbook === undefined ? '' : html`<details ${isAlone ? 'open' : ''}><summary>What the runbook says</summary>${reading.runbook(runbook)}</details>`}</li>`;
}

/** A table. On a narrow screen, where the style hides the head, each cell shows the name of its column. */
function tableHtml({ columns, rows }: NonNullable<Section['table']>, reading: Reading): Html {
  const cell = (text: Text, at: number) => html`<td data-name="${columns[at] ?? ''}">${textHtml(text, reading)}</td>`;
  return html`<table><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cell)}</tr>`)}</tbody></table>`;
}

function timelineHtml({ steps, fromMs }: NonNullable<Section['timeline']>): Html {
  return html`<ol class="steps">${steps.map(({ atMs, kind, text }) => {
    const when = atMs === undefined ? html`<span class="when"></span>` : timeHtml(atMs, `+${inWords(atMs - fromMs)}`);
    return html`<li class="${kind}">${when}<span>${text}</span></li>`;
  })}</ol>`;
}

function textHtml(text: Text, reading: Reading): Html {
  return html`${piecesOf(text).map((piece) => pieceHtml(piece, reading))}`;
}

function pieceHtml(piece: Piece, { nowMs, formKey }: Reading): Html {
  if (typeof piece !== 'object') return html`${piece}`;
  if ('letter' in piece) return letterHtml(piece.letter, formKey);
  if ('of' in piece) return nameHtml(piece);
  if ('href' in piece) return html`<a class="id" href="${piece.href}">${piece.text}</a>`;
  return timeHtml(piece.atMs, `${inWords(nowMs - piece.atMs)} ago`);
}

function letterHtml(letter: string, formKey: string): Html {
  const acts: Act[] = [
    { verb: 'replay', target: letter, label: 'Put back' },
    { verb: 'purge', target: letter, label: 'Remove' },
  ];
  return html`<div><a class="id" href="${HOME}/letter/${encodeURIComponent(letter)}">${letter}</a>${actsHtml(acts, formKey)}</div>`;
}

function timeHtml(atMs: number, words: string): Html {
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${utcTime(atMs)}">${words}</time>`;
}

function nameHtml({ of, id, text = id }: Name): Html {
  const at = of === 'dead' ? `?chat=${encodeURIComponent(id)}` : `/${encodeURIComponent(id)}`;
  return html`<a class="id" href="${HOME}/${of}${of === 'dead' && id === '' ? '' : at}">${text}</a>`;
}
