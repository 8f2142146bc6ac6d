import { html } from 'hono/html';
import type { IncidentReport } from '../../report/incidents.ts';
import { counted } from '../../report/words.ts';
import type { Html } from './layout.ts';
import { ago, chatLink, nothing, section } from './parts.ts';

const CHATS_SHOWN = 5;

/** The incidents that are open, and those that ended within the hour. Pure. */
export function incidentsPage(incidents: readonly IncidentReport[], nowMs: number): Html {
  const open = incidents.filter(({ isOpen }) => isOpen);
  const ended = incidents.filter(({ isOpen }) => !isOpen);
  return html`<h1>Incidents</h1>
${section('Open', open.length === 0 ? nothing('None.') : incidentList(open, nowMs))}
${section('Ended within the hour', ended.length === 0 ? nothing('None.') : incidentList(ended, nowMs))}`;
}

/** Incidents in the given order. Pure. */
export function incidentList(incidents: readonly IncidentReport[], nowMs: number): Html {
  return html`<ul class="cards">${incidents.map((incident) => card(incident, nowMs))}</ul>`;
}

function card(incident: IncidentReport, nowMs: number): Html {
  const { title, cause, isOpen, sinceMs, lastMs, endedMs, count, latest, todo, chatNames, chats } = incident;
  const when = html`since ${ago(sinceMs, nowMs)}, last ${ago(lastMs, nowMs)}`;
  const ended = endedMs === undefined ? when : html`began ${ago(sinceMs, nowMs)}, ended ${ago(endedMs, nowMs)}`;
  return html`<li class="${isOpen ? 'bad' : 'over'}">
<h3>${title}</h3>
<p>${latest}</p>
${isOpen && todo !== '' ? html`<p>${todo}</p>` : ''}
<p class="note">${ended} · ${counted(count, 'time')}${chats > 0 ? html` · ${counted(chats, 'chat')}: ${chatsOf(chatNames)}` : ''} · Runbook: ${cause}</p>
</li>`;
}

function chatsOf(names: readonly string[]): Html {
  const shown = names.slice(0, CHATS_SHOWN);
  return html`${shown.map((name, at) => html`${at === 0 ? '' : ', '}${chatLink(name)}`)}${names.length > shown.length ? ' …' : ''}`;
}
