import type { Hono } from 'hono';
import { html } from 'hono/html';
import { counted } from '../../shared/base/text.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import { loadPrices } from '../model/prices.ts';
import { auditReport, readAudit } from '../report/audit-report.ts';
import { readRecoveries, recoveriesReport } from '../report/recoveries.ts';
import type { Report } from '../report/report.ts';
import { readStatus, statusReport } from '../report/status.ts';
import { actsOnAll, saidOf } from './acts.ts';
import { HOME, type Html, type Page, problemPage } from './pages/layout.ts';
import { type Around, reportPage } from './pages/report.ts';
import { type DeskPorts, show, type Visit, type VisitEnv } from './visit.ts';

const REFRESH_SECONDS = 15;
/** The periods that can be chosen, in days. */
const PERIODS = [1, 7, 30];
/** A page with a report, between what only a page has. */
export interface ReportView extends Omit<Page, 'formKey' | 'body'> {
  report: Report;
  around?: Around;
  before?: Html;
  after?: Html;
}

/** Serves the reports. */
export function serveReports(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const { config, source } = desk;
  app.get(HOME, async (visit) => {
    const report = statusReport(await readStatus(source, config));
    const title = report.verdict?.word ?? 'Status';
    return reportView(visit, desk, {
      ...{ title, report, at: HOME, refreshSeconds: REFRESH_SECONDS, before: saidOf(visit), after: SEARCH },
      around: { acts: await actsOnAll(desk) },
    });
  });
  app.get(`${HOME}/recoveries`, async (visit) => {
    const report = recoveriesReport(await readRecoveries(source), Date.now());
    return reportView(visit, desk, { title: 'Recoveries', report, at: `${HOME}/recoveries` });
  });
  app.get(`${HOME}/cost`, async (visit) => {
    const days = PERIODS.find((each) => String(each) === visit.req.query('days')) ?? 7;
    const prices = await loadPrices(config.MODEL_PRICES_FILE);
    const report = auditReport(await readAudit(source, { days, prices, totals: totalsOf(config) }));
    return reportView(visit, desk, { title: 'Cost', report, at: `${HOME}/cost`, before: periodLinks(days) });
  });
}

const SEARCH = html`<form class="search" action="${HOME}/find"><input name="name" aria-label="Message or chat" placeholder="Entry, trace id or chat"><button>Find</button></form>
<p class="note">This page refreshes every ${REFRESH_SECONDS} seconds.</p>`;

/** A report as a page. */
export function reportView(visit: Visit, { token }: DeskPorts, { report, around, before, after, ...page }: ReportView) {
  const body = reportPage(report, token.formKey(visit.get('session') ?? ''), around);
  return show(visit, token, { ...page, body: html`${before ?? ''}${body}${after ?? ''}` });
}

function periodLinks(current: number): Html {
  const link = (days: number) => {
    const name = counted(days, 'day');
    return days === current ? html`<b>${name}</b>` : html`<a href="${HOME}/cost?days=${days}">${name}</a>`;
  };
  return html`<p class="actions">${PERIODS.map(link)}</p>`;
}

/** The page for a name of which nothing is known. */
export function unknown(visit: Visit, { token }: DeskPorts, title: string, text: string) {
  return show(visit, token, { title, body: problemPage(title, text) }, 404);
}
