import type { Hono } from 'hono';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { loadPrices } from '../model/price-file.ts';
import { readChat } from '../report/chat.ts';
import { readIncidents } from '../report/incidents.ts';
import { ENTRY_NAME, TRACE_NAME } from '../report/message-name.ts';
import { readRollUp } from '../report/period.ts';
import { readRecoveries } from '../report/recoveries.ts';
import { readStatus } from '../report/status.ts';
import { chatPage } from './pages/chat.ts';
import { costPage, PERIODS } from './pages/cost.ts';
import { incidentsPage } from './pages/incidents.ts';
import { HOME } from './pages/layout.ts';
import { problemPage } from './pages/login.ts';
import { recoveriesPage } from './pages/recoveries.ts';
import { statusPage, titleOf } from './pages/status.ts';
import { type DeskPorts, show, type VisitEnv } from './visit.ts';

const REFRESH_SECONDS = 15;
const DAY_MS = 24 * 3600_000;

/** Serves the pages that only show. */
export function serveReports(app: Hono<VisitEnv>, { config, source, token }: DeskPorts): void {
  app.get(HOME, async (visit) => {
    const status = await readStatus(source, config);
    return show(visit, token, {
      title: titleOf(status),
      body: statusPage(status),
      at: HOME,
      refreshSeconds: REFRESH_SECONDS,
    });
  });
  app.get(`${HOME}/incidents`, async (visit) => {
    const body = incidentsPage(await readIncidents(source), Date.now());
    return show(visit, token, { title: 'Incidents', body, at: `${HOME}/incidents` });
  });
  app.get(`${HOME}/recoveries`, async (visit) => {
    const body = recoveriesPage(await readRecoveries(source), Date.now());
    return show(visit, token, { title: 'Recoveries', body, at: `${HOME}/recoveries` });
  });
  app.get(`${HOME}/cost`, async (visit) => {
    const days = PERIODS.find((each) => String(each) === visit.req.query('days')) ?? 7;
    const rollUp = await readRollUp(source, Date.now() - days * DAY_MS, await loadPrices(config.MODEL_PRICES_FILE));
    return show(visit, token, { title: 'Cost', body: costPage(rollUp, days), at: `${HOME}/cost` });
  });
  app.get(`${HOME}/chat/:chat`, async (visit) => {
    const name = parseChatKey(visit.req.param('chat'));
    const chat = name && (await readChat(source, name.chat));
    if (chat === undefined) {
      const body = problemPage('Unknown chat', 'Nothing is known of this chat.');
      return show(visit, token, { title: 'Unknown chat', body }, 404);
    }
    return show(visit, token, { title: `Chat ${chat.chat}`, body: chatPage(chat, Date.now()) });
  });
  app.get(`${HOME}/find`, (visit) => {
    const name = (visit.req.query('name') ?? '').trim();
    const isMessage = ENTRY_NAME.test(name) || TRACE_NAME.test(name);
    return visit.redirect(`${HOME}/${isMessage ? 'message' : 'chat'}/${encodeURIComponent(name)}`, 303);
  });
}
