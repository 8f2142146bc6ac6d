import type { Hono } from 'hono';
import { html } from 'hono/html';
import { keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, pauseOfChat, readPauses } from '../../shared/state/lane/stops.ts';
import { traceUrl } from '../alerts/notice-text.ts';
import { type IncidentReport, incidentReport, incidentsReport, readIncidents } from '../report/incidents.ts';
import { resumeOf } from '../report/message.ts';
import type { Act } from '../report/report.ts';
import { actsOnAll } from './acts.ts';
import { replayAllIn } from './letters.ts';
import type { Way } from './pages/acts.ts';
import { HOME } from './pages/layout.ts';
import { reportView, unknown } from './reports.ts';
import { sectionHtml } from './runbook.ts';
import type { DeskPorts, Visit, VisitEnv } from './visit.ts';

/** What fails is an incident a little later. */
const BEFORE_MS = 120_000;
/** An incident with more chats is one of the whole installation. */
const CHATS_MAX = 5;

/** Serves the incidents, and each on a page of its own, with the section of the runbook that is about it. */
export function serveIncidents(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const at = `${HOME}/incidents`;
  app.get(at, async (visit) => {
    const report = incidentsReport(await readIncidents(desk.source), Date.now());
    const around = { acts: await actsOnAll(desk), runbook: (name: string) => sectionHtml(desk.runbook, name) };
    return reportView(visit, desk, { title: 'Incidents', report, at, around });
  });
  app.get(`${HOME}/incident/:name{.+}`, async (visit) => {
    const asked = visit.req.param('name');
    const incident = (await readIncidents(desk.source)).find(({ name }) => name === asked);
    if (incident !== undefined) return showIncident(visit, desk, incident);
    return unknown(visit, desk, 'Unknown incident', 'It ended more than an hour ago, or never was.');
  });
}

async function showIncident(visit: Visit, desk: DeskPorts, incident: IncidentReport) {
  const { name, cause, sinceMs, endedMs } = incident;
  return reportView(visit, desk, {
    ...{ title: name, at: `${HOME}/incidents`, report: incidentReport(incident, Date.now()) },
    around: {
      ways: traceOf(desk, incident.traceId),
      acts: [
        ...(await replayAllIn(
          desk.source,
          Math.max(0, sinceMs - BEFORE_MS),
          endedMs,
          (count) => `Put back the ${count} that failed in its time`,
        )),
        ...(await actsOnChats(desk, incident)),
        ...(await actsOnAll(desk)),
      ],
    },
    before: html`<p><a href="${HOME}/incidents">All incidents</a></p>`,
    after: html`<section class="runbook"><h2>Runbook: ${cause}</h2>${sectionHtml(desk.runbook, cause)}</section>`,
  });
}

/** What stops the chats that an incident names, or lets them go on. */
async function actsOnChats({ source }: DeskPorts, { chats, chatNames }: IncidentReport): Promise<Act[]> {
  if (chats > CHATS_MAX) return [];
  const acts = chatNames.map(async (name): Promise<Act[]> => {
    const { chat, chatId } = parseChatKey(name) ?? {};
    if (chat === undefined || chatId === undefined) return [];
    const pause = pauseOfChat(await readPauses(source.redis, keysOf(shardOf(chatId, source.shards))), chat);
    if (pause?.chat === EVERY_CHAT) return [];
    const label = `${pause === undefined ? 'Pause' : 'Resume'} chat ${chat}`;
    return [pause === undefined ? { verb: 'pause', target: chat, label } : { ...resumeOf(chat), label }];
  });
  return (await Promise.all(acts)).flat();
}

/** The way to a trace, where there is an address for traces. Pure. */
export function traceOf({ config }: Pick<DeskPorts, 'config'>, traceId: string | undefined): Way[] {
  const { TRACE_URL_TEMPLATE: template } = config;
  return template === undefined || !traceId ? [] : [{ href: traceUrl(template, traceId), label: 'Trace' }];
}
