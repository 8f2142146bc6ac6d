import { html } from 'hono/html';
import { utcTime } from '../../../shared/base/utc-time.ts';
import type { MessageReport } from '../../report/message.ts';
import { whereOf } from '../../report/place-words.ts';
import type { Step } from '../../report/timeline.ts';
import { inWords } from '../../report/words.ts';
import { replayForm } from './dead-letters.ts';
import type { Html } from './layout.ts';
import { ago, chatLink, messageLink, section, tile, tiles } from './parts.ts';

/** What a page about a message needs besides its report. */
export interface MessageExtras {
  nowMs: number;
  formKey: string;
  /** The name of its dead letter, for putting it back. */
  letterName?: string;
  /** Its words, for operators who may read them; `hidden` says that they may not. */
  content: string | 'hidden' | undefined;
}

/** The life of a message: where it is now first, then its timeline. Pure. */
export function messagePage(report: MessageReport, { nowMs, formKey, letterName, content }: MessageExtras): Html {
  const { entry, chat, traceId, kind, timeline, acceptedMs, turn } = report;
  return html`<h1>Message <span class="id">${entry}</span></h1>
${standing(report, nowMs)}
${letterName === undefined ? '' : html`<p>It is kept as dead letter <span class="id">${letterName}</span>.</p>${replayForm(letterName, formKey)}`}
${tiles(
  tile('Chat', chatLink(chat), kind ?? ''),
  tile('Accepted', ago(acceptedMs, nowMs), utcTime(acceptedMs)),
  tile(
    'Attempt',
    turn?.attempt ?? report.outcome?.attempts ?? 0,
    `${turn?.recoveries ?? report.outcome?.recoveries ?? 0} recoveries`,
  ),
)}
${section('Timeline', steps(timeline, acceptedMs))}
${section('Content', contentOf(content))}
<p class="note">Trace <span class="id">${traceId || 'none'}</span></p>`;
}

/** The messages that one id may mean, because several shards have an entry of that id. Pure. */
export function choicePage(names: readonly { shard: number; entry: string }[]): Html {
  return html`<h1>Which one?</h1>
<p>Several shards have a message of this id.</p>
<ul>${names.map(({ shard, entry }) => html`<li>${messageLink(`${shard}/${entry}`)}</li>`)}</ul>`;
}

function standing({ outcome, place, pause }: MessageReport, nowMs: number): Html {
  if (outcome !== undefined) {
    const isGood = outcome.outcome !== 'failed' && outcome.outcome !== 'undeliverable';
    const why = outcome.reason === undefined ? '' : ` (${outcome.reason})`;
    return html`<div class="verdict ${isGood ? 'good' : 'bad'}"><p>Ended ${ago(outcome.settledAtMs, nowMs)}: <b>${outcome.outcome}</b>${why}</p></div>`;
  }
  const where = place === undefined ? 'Nothing says where it is.' : `Now: ${whereOf(place, nowMs)}.`;
  const rests = pause === undefined ? '' : ` Paused by ${pause.by} for ${inWords(nowMs - pause.sinceMs)}.`;
  return html`<div class="verdict"><p>${where}${rests}</p></div>`;
}

function steps(timeline: readonly Step[], fromMs: number): Html {
  return html`<ol class="steps">${timeline.map(({ atMs, kind, text }) => {
    const when =
      atMs === undefined
        ? html`<span class="when"></span>`
        : html`<time datetime="${new Date(atMs).toISOString()}" title="${utcTime(atMs)}">+${inWords(atMs - fromMs)}</time>`;
    return html`<li class="${kind}">${when}<span>${text}</span></li>`;
  })}</ol>`;
}

function contentOf(content: MessageExtras['content']): Html {
  if (content === 'hidden') return html`<p class="nothing">Not shown: LOG_CONTENT is off.</p>`;
  return content === undefined
    ? html`<p class="nothing">It is no longer stored with the message.</p>`
    : html`<pre>${content}</pre>`;
}
