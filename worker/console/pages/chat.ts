import { html } from 'hono/html';
import { utcTime } from '../../../shared/base/utc-time.ts';
import type { ChatReport } from '../../report/chat.ts';
import { whereOf } from '../../report/place-words.ts';
import { counted, inWords, money } from '../../report/words.ts';
import { HOME, type Html } from './layout.ts';
import { ago, chatLink, messageLink, nothing, section, table, tile, tiles } from './parts.ts';

/** The state of one chat. Pure. */
export function chatPage(report: ChatReport, nowMs: number): Html {
  const { chat, waiting, today, deadLetters, reminders, outcomes, recoveries, movedTo, movedFrom } = report;
  return html`<h1>Chat <span class="id">${chat}</span></h1>
${movedTo === undefined ? '' : html`<p>It became the supergroup ${chatLink(movedTo)}.</p>`}
${movedFrom === undefined ? '' : html`<p>It was the group ${chatLink(movedFrom)}.</p>`}
${lane(report, nowMs)}
${tiles(
  tile('Waiting', waiting, 'the one that is answered included'),
  tile(
    'Today',
    money(today.dollars),
    `${counted(today.calls, 'call')}, ${thousands(today.inputTokens)} tokens in, ${thousands(today.outputTokens)} out`,
  ),
  tile(
    'Dead letters',
    html`<a href="${HOME}/dead?chat=${encodeURIComponent(chat)}">${deadLetters}</a>`,
    `${recoveries} recoveries lately`,
  ),
  tile('Reminders', reminders, 'to come'),
)}
${section('Session', session(report))}
${section('Newest outcomes', outcomes.length === 0 ? nothing('None lately.') : outcomeTable(outcomes, nowMs))}`;
}

function lane({ head, pause }: ChatReport, nowMs: number): Html {
  const rests =
    pause === undefined
      ? ''
      : html`<p>Paused ${ago(pause.sinceMs, nowMs)} by ${pause.by}: ${pause.why || 'no reason was given'}.</p>`;
  if (head === undefined) return html`<div class="verdict"><p>No message waits.</p>${rests}</div>`;
  const since = inWords(nowMs - head.acceptedMs);
  return html`<div class="verdict"><p>First is ${messageLink(head.entry)}, accepted ${since} ago: ${whereOf(head.place, nowMs)}.</p>${rests}</div>`;
}

function session({ session: current }: ChatReport): Html {
  if (current === undefined) return nothing('Nothing was said yet.');
  const { id, messages, bytes, tokens, sinceMs, compactedMs } = current;
  const since = sinceMs === undefined ? '' : `, since ${utcTime(sinceMs)}`;
  const compacted = compactedMs === undefined ? 'never compacted' : `compacted ${utcTime(compactedMs)}`;
  return html`<p><span class="id">${id}</span>: ${counted(messages, 'message')}, ${(bytes / 1e6).toFixed(2)} MB, ${thousands(tokens)} tokens${since}; ${compacted}.</p>`;
}

function outcomeTable(outcomes: ChatReport['outcomes'], nowMs: number): Html {
  return table(
    ['Message', 'Outcome', 'Reason', 'Attempts', 'Ended'],
    outcomes.map(({ entry, outcome, reason, attempts, settledAtMs }) => [
      messageLink(entry),
      outcome,
      reason ?? '–',
      attempts,
      ago(settledAtMs, nowMs),
    ]),
  );
}

function thousands(number: number): string {
  return number.toLocaleString('en-US');
}
