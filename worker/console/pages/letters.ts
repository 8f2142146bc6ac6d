import { html } from 'hono/html';
import { counted } from '../../../shared/base/text.ts';
import type { LetterPage } from '../../../shared/state/lane/letter-list.ts';
import { deedForm, questionPage } from './acts.ts';
import { HOME, type Html } from './layout.ts';

const DEAD = `${HOME}/dead`;

/** The filter as its words stand in an address. */
type Words = Readonly<Record<string, string>>;

/** The form that chooses which letters are meant. Pure. */
export function filterForm({ chat = '', reason = '', since = '' }: Words): Html {
  return html`<form class="search" action="${DEAD}">
<input name="chat" aria-label="Chat" placeholder="Chat" value="${chat}">
<input name="reason" aria-label="Reason" placeholder="Reason" value="${reason}">
<input name="since" aria-label="Failed since" placeholder="Since: 90m, 2h, 3d" value="${since}">
<button>Show</button></form>`;
}

/** The way to put back all letters that are meant. Pure. */
export function runLink(words: Words, total: number): Html {
  if (total === 0) return html``;
  return html`<p class="actions"><a class="button" href="${withWords(`${DEAD}/run`, words)}">Put back all ${total}</a></p>`;
}

/** The ways on from a page of letters. Pure. */
export function lettersLinks(words: Words, { olderThan, newerThan }: LetterPage, isBeside: boolean): Html {
  const link = (name: string, more: Words) =>
    html`<a class="button" href="${withWords(DEAD, { ...words, ...more })}">${name}</a>`;
  return html`<div class="actions">
${isBeside ? link('Newest', {}) : ''}
${newerThan === undefined ? '' : link('Newer', { newer: newerThan })}
${olderThan === undefined ? '' : link('Older', { older: olderThan })}
</div>`;
}

/** A run that puts many letters back, as far as it has come. */
export interface RunShown {
  words: Words;
  /** How many letters the run began with, and how many are left. */
  of: number;
  left: number;
  /** Messages that one press puts back. */
  batch: number;
  isOver: boolean;
  /** A click before this one did what this one was to do. */
  isRepeated: boolean;
  /** What a form of the run carries. */
  fields: Words;
  /** Who began it, and why; absent before it has begun. */
  who?: { why: string; name: string };
}

/** A run as the body of a page: the question, the progress, or the end. Pure. */
export function runPage(run: RunShown, formKey: string): Html {
  const { words, of, left, batch, isOver, isRepeated, fields, who } = run;
  const repeated = isRepeated ? html`<p class="done" role="status">That was put back already.</p>` : html``;
  const back = html`<p><a href="${withWords(DEAD, words)}">Back to the dead letters</a></p>`;
  if (isOver) return html`<h1>Done: went through ${counted(of, 'dead letter')}</h1>${restHtml(left, words)}${back}`;
  if (left === 0) return html`${repeated}<h1>Nothing is left to put back</h1>${back}`;
  const action = `${DEAD}/run`;
  const button = left > batch ? `Put back the next ${batch}` : `Put back the last ${left}`;
  if (who === undefined)
    return questionPage(
      {
        title: `Put back ${counted(left, 'dead letter')}?`,
        text: [
          html`${scopeOf(words)}Each is answered once, after what waits in its chat. ${batch} messages are put back at once.`,
        ],
        ...{
          action,
          fields,
          button: left > batch ? `Put back the first ${batch}` : `Put back all ${left}`,
          back: DEAD,
        },
      },
      formKey,
    );
  return html`${repeated}<h1>Put back ${of - left} of ${of}</h1>
<p><progress value="${of - left}" max="${of}">${of - left} of ${of}</progress></p>
<p>${scopeOf(words)}${counted(left, 'letter')} left. What was put back stays so, if you stop here.</p>
${deedForm({ action, fields: { ...fields, ...who }, button }, formKey)}${back}`;
}

function restHtml(left: number, words: Words): Html {
  if (left === 0) return html`<p>All are back in their chats' lanes.</p>`;
  return html`<p>Of these, <a href="${withWords(DEAD, words)}">${counted(left, 'letter')}</a> are kept now: they have failed
again, name no chat, or a piece of their message is still being put aside.</p>`;
}

function scopeOf({ chat = '', reason = '', since = '', before = '' }: Words): string {
  const parts = [
    chat && `chat ${chat}`,
    reason && `reason ${reason}`,
    since && `failed since ${since}`,
    before && `before ${before}`,
  ].filter(Boolean);
  return parts.length === 0 ? 'All that are kept. ' : `Only ${parts.join(', ')}. `;
}

function withWords(path: string, words: Words): string {
  const query = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}
