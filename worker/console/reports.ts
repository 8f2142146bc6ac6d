import type { Hono } from 'hono';
import { readIncidents } from '../report/incidents.ts';
import { readStatus } from '../report/status.ts';
import { incidentsPage } from './pages/incidents.ts';
import { HOME } from './pages/layout.ts';
import { statusPage } from './pages/status.ts';
import { type DeskPorts, show, type VisitEnv } from './visit.ts';

const REFRESH_SECONDS = 15;

/** Serves the pages that only show. */
export function serveReports(app: Hono<VisitEnv>, { config, source, token }: DeskPorts): void {
  app.get(HOME, async (visit) => {
    const status = await readStatus(source, config);
    const title = status.isGreen ? 'Green' : 'Red';
    return show(visit, token, { title, body: statusPage(status), at: HOME, refreshSeconds: REFRESH_SECONDS });
  });
  app.get(`${HOME}/incidents`, async (visit) => {
    const body = incidentsPage(await readIncidents(source), Date.now());
    return show(visit, token, { title: 'Incidents', body, at: `${HOME}/incidents` });
  });
}
