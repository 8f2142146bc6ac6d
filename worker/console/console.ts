import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { html } from 'hono/html';
import type { Route } from '../../shared/app/health.ts';
import type { Config } from '../../shared/base/config.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisAddress } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { optionProblem, wordsProblem } from '../report/arguments.ts';
import { ENTRY_NAME, TRACE_NAME } from '../report/message-location.ts';
import { UnknownName, UnusableSetting } from '../report/report.ts';
import { REPORTS, type ReportRule } from '../report/reports.ts';
import { saidOf, serveActs } from './acts.ts';
import { guard, serveLogin, tokenOf } from './login.ts';
import { HOME, pathOfReport, problemPage } from './pages/layout.ts';
import { optionsForm, reportPage, titleOf, unknownPage } from './pages/report.ts';
import { readRunbook, sectionHtml, serveRunbook } from './runbook.ts';
import { type DeskPorts, readForm, safeHeaders, show, type Visit, type VisitEnv } from './visit.ts';

export interface ConsolePorts {
  config: Config;
  /** The operator's token: whoever has it may read and act. */
  token: string;
  redisAddress: RedisAddress;
  log: Logger;
  /** The file of the runbook; the one that comes with the program, unless it is named. */
  runbookFile?: string;
}

const RUNBOOK = join(import.meta.dirname, '..', '..', 'docs', 'runbook.md');

const REFRESH_SECONDS = 15;
const SEARCH = html`<form class="search" action="${HOME}/find"><input name="name" aria-label="Message or chat" placeholder="Entry, trace id or chat"><button>Find</button></form>
<p class="note">This page refreshes every ${REFRESH_SECONDS} seconds.</p>`;

const UNKNOWN = 'Whether your click did anything is not known either: look, and click again. Twice does no harm.';
/** A connection that is lost comes back within this, if it comes back soon. */
const READY_MS = 2_000;

/**
 * The operator's console, as a route of the HTTP port. It keeps nothing of its own: every process of an installation
 * serves the same pages to the same login. While Redis does not answer, the pages say so.
 */
export function startConsole(ports: ConsolePorts): Service & { routes: Route[] } {
  const { config, log } = ports;
  const redis = connectRedis(ports.redisAddress, 'impatient');
  const source = { redis, shards: config.SHARDS };
  const runbook = readRunbook(ports.runbookFile ?? RUNBOOK, config.RUNBOOK_URL);
  const app = consoleApp({ config, redis, source, runbook, token: tokenOf(ports.token), log });
  // The process has a Request and a Response of its own, which must stay as they are.
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return {
    name: 'console',
    routes: [{ path: HOME, isTree: true, handle: async (request, response) => listener(request, response) }],
    async stop() {
      redis.disconnect();
    },
  };
}

function consoleApp(desk: DeskPorts): Hono<VisitEnv> {
  const { token, log } = desk;
  const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');
  const app = new Hono<VisitEnv>({ strict: false });
  app.use(safeHeaders);
  app.use(async (visit, next) => {
    await next();
    visit.res.headers.set('cache-control', 'no-store');
  });
  app.use(readForm);
  app.get(`${HOME}/style.css`, (visit) => visit.body(style, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.use(guard(desk));
  serveLogin(app, desk);
  app.use(async (_, next) => {
    await untilReady(desk.redis, READY_MS);
    await next();
  });
  serveReports(app, desk);
  serveRunbook(app, desk);
  serveActs(app, desk);
  app.notFound((visit) =>
    show(visit as Visit, token, { title: 'Not found', body: problemPage('Not found', 'There is no such page.') }, 404),
  );
  app.onError((error, visit) => {
    if (error instanceof UnknownName)
      return show(visit, token, { title: 'Unknown', body: unknownPage(error.message, error.choices) }, 404);
    if (error instanceof UnusableSetting)
      return show(visit, token, { title: 'Not shown', body: problemPage('Not shown', error.message) }, 500);
    log.warn({ err: error }, 'a page of the console could not be made');
    // A click says no more than that it was made.
    const asked = visit.req.method === 'GET' ? '' : ` ${UNKNOWN}`;
    if (desk.redis.status === 'ready') {
      const text = `Something could not be read or written. The log of this process says more.${asked}`;
      return show(visit, token, { title: 'Not shown', body: problemPage('This page cannot be shown', text) }, 500);
    }
    const text = `So nothing is known. The runbook says what to do: redis-writes.${asked}`;
    return show(visit, token, { title: 'Red', body: problemPage('Red: Redis does not answer', text) }, 503);
  });
  return app;
}

/** Serves every report, each at its place, and the search for a message or a chat. */
function serveReports(app: Hono<VisitEnv>, desk: DeskPorts): void {
  app.get(`${HOME}/find`, (visit) => {
    const name = (visit.req.query('name') ?? '').trim();
    const isMessage = ENTRY_NAME.test(name) || TRACE_NAME.test(name);
    return visit.redirect(`${HOME}/${isMessage ? 'message' : 'chat'}/${encodeURIComponent(name)}`, 303);
  });
  for (const rule of Object.values<ReportRule>(REPORTS)) {
    const path = pathOfReport(rule.page);
    app.get(rule.args === undefined ? path : `${path}/:name{.+}`, (visit) => showReport(visit, desk, rule));
  }
}

async function showReport(visit: Visit, desk: DeskPorts, { args = [], options = {}, page, read }: ReportRule) {
  const { config, source, token, runbook } = desk;
  const words = args.map(() => visit.req.param('name') ?? '');
  const problem = wordsProblem(args, words);
  if (problem !== undefined) throw new UnknownName(problem);
  const query = Object.entries(visit.req.query());
  const given = Object.fromEntries(
    query.filter(([name, value]) => Object.hasOwn(options, name) && !optionProblem(name, value, options[name])),
  );
  const asked = { words, options: given, content: config.LOG_CONTENT };
  const { report } = await (await read())({ ...source, config }, asked);
  const reading = {
    nowMs: report.nowMs,
    formKey: token.formKey(visit.get('session') ?? ''),
    runbook: (name: string) => sectionHtml(runbook, name),
  };
  const [at, isFirst] = [pathOfReport(page), page === ''];
  const body = html`${saidOf(visit)}${reportPage(report, reading)}${optionsForm(at, options, given)}${isFirst ? SEARCH : ''}`;
  return show(visit, token, { title: titleOf(report), body, at, ...(isFirst && { refreshSeconds: REFRESH_SECONDS }) });
}
