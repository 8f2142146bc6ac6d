import { html } from 'hono/html';
import { utcTime } from '../../../shared/base/utc-time.ts';
import type { Pause } from '../../../shared/state/lane/pauses.ts';
import type { PartState, Status } from '../../report/status.ts';
import { counted, inWords } from '../../report/words.ts';
import { incidentList } from './incidents.ts';
import { HOME, type Html } from './layout.ts';
import { ago, chatLink, messageLink, more, nothing, section, table, tile, tiles } from './parts.ts';

const MEGABYTE = 1024 * 1024;

/** The state of everything: its colour with the reason first. Pure. */
export function statusPage(status: Status): Html {
  const { incidents, atMs } = status;
  const open = incidents.filter(({ isOpen }) => isOpen);
  return html`${verdict(status)}
${numbers(status)}
${section('Open incidents', open.length === 0 ? nothing('None.') : incidentList(open, atMs))}
${section('In flight', inFlight(status))}
${section('Lanes', lanes(status))}
${status.pauses.length === 0 ? '' : section('Paused', pauses(status))}
${section('Connections', connections(status))}
<form class="search" action="${HOME}/find"><input name="name" aria-label="Message or chat" placeholder="Entry, trace id or chat"><button>Find</button></form>
<p class="note">As of ${utcTime(atMs)}. This page loads itself again every 15 seconds.</p>`;
}

/** A colour, as the head of the page. Pure. */
export function titleOf({ colour }: Pick<Status, 'colour'>): string {
  return `${colour.slice(0, 1).toUpperCase()}${colour.slice(1)}`;
}

function verdict(status: Status): Html {
  const { colour, troubles, workers } = status;
  const [worst, ...others] = troubles;
  if (worst === undefined)
    return html`<div class="verdict good" role="status"><h1>${titleOf(status)}</h1>
<p class="reason">${colour === 'starting' ? 'It was started just now.' : 'All is well.'}</p>
<p>${counted(workers, 'worker')} at work.</p></div>`;
  return html`<div class="verdict ${colour === 'red' ? 'bad' : 'fair'}" role="status"><h1>${titleOf(status)}</h1>
<p class="reason">${worst.text}</p>
<p>${worst.todo} Runbook: <b>${worst.cause}</b></p>
${others.length === 0 ? '' : html`<ul>${others.map(({ text, cause }) => html`<li>${text} <span class="note">Runbook: ${cause}</span></li>`)}</ul>`}</div>`;
}

function numbers({ ledger, jobs, oldest, deadLetters, workers, atMs }: Status): Html {
  const waits =
    oldest === undefined
      ? 'none unanswered'
      : html`oldest ${messageLink(oldest.entry)}, ${ago(oldest.acceptedMs, atMs)}`;
  return tiles(
    tile('Unanswered', ledger.pending, waits),
    tile('Running', jobs.active, `${jobs.waiting} waiting, ${jobs.delayed} put off`),
    tile('Dead letters', html`<a href="${HOME}/dead">${deadLetters}</a>`, 'failed, may be put back'),
    tile('Workers', workers, `${ledger.settled} of ${ledger.accepted} messages settled`),
  );
}

function inFlight({ running, jobs, atMs }: Status): Html {
  if (running.length === 0) return nothing('No turn is running.');
  const rows = running.map(({ entry, chat, step, attempt, sinceMs }) => [
    messageLink(entry),
    chatLink(chat),
    step,
    attempt,
    sinceMs === undefined ? 'just begun' : inWords(atMs - sinceMs),
  ]);
  return html`${table(['Message', 'Chat', 'Step', 'Attempt', 'For'], rows)}${more(jobs.active - running.length, 'turn')}`;
}

function lanes({ lanes: { count, waiting, deepest } }: Status): Html {
  if (count === 0) return nothing('No message waits.');
  const rows = deepest.map(({ chat, messages }) => [chatLink(chat), messages]);
  return html`<p>${counted(count, 'chat')} with messages; in ${waiting} of them some wait.</p>
${table(['Chat', 'Messages'], rows)}`;
}

function pauses({ pauses: all, atMs }: Status): Html {
  const whom = ({ chat }: Pause) => (chat === '*' ? 'every chat' : chatLink(chat));
  return table(
    ['Chat', 'Since', 'By', 'Why'],
    all.map((pause) => [whom(pause), ago(pause.sinceMs, atMs), pause.by, pause.why || 'no reason given']),
  );
}

function connections({ receiving, provider, alerts, redis }: Status): Html {
  const room =
    redis.share === undefined ? 'without a limit' : `of ${megabytes(redis.maxBytes)}, ${percent(redis.share)}`;
  const by = receiving.by === undefined ? '' : `; by ${receiving.by}`;
  const writes = redis.takesWrites ? 'takes writes' : 'takes no writes';
  return html`<ul class="marks">
${mark('Receiving', { ...receiving, detail: `${receiving.detail}${by}` })}
${mark('Model', provider)}
${mark('Alerts', alerts)}
${mark('Redis', { isWell: redis.takesWrites, detail: `${megabytes(redis.usedBytes)} ${room}; ${writes}` })}
</ul>`;
}

function mark(name: string, { isWell, detail }: PartState): Html {
  return html`<li class="${isWell ? 'good' : 'bad'}"><b>${name}</b> <span>${isWell ? '' : 'Trouble: '}${detail}</span></li>`;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MEGABYTE)} MB`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
