import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { html } from 'hono/html';
import type { Route } from '../../../shared/app/health.ts';
import type { Root } from '../../../shared/app/process.ts';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { optionProblem, wordsProblem } from '../../report/arguments.ts';
import { ENTRY_NAME, TRACE_NAME } from '../../report/message-location.ts';
import { UnknownName, UnusableSetting } from '../../report/report.ts';
import { REPORTS, type ReportRule } from '../../report/reports.ts';
import { resultHtml, serveActs } from './acts.ts';
import { requireSession, serveLogin, tokenOf } from './login.ts';
import { HOME, pathOfReport } from './pages/layout.ts';
import { choicesHtml, optionsForm, reportHtml, reportTitle } from './pages/report.ts';
import { readRunbook, serveRunbook } from './runbook.ts';
import { type ConsoleParts, readForm, safeHeaders, show, showProblem, type Visit, type VisitEnv } from './visit.ts';

const RUNBOOK = join(import.meta.dirname, '..', '..', '..', 'docs', 'runbook.md');

const REFRESH_SECONDS = 15;
const SEARCH = html`<form class="search" action="${HOME}/find"><input name="name" aria-label="Message or chat" placeholder="Entry, trace id or chat"><button>Find</button></form>
<p class="note">This page refreshes every ${REFRESH_SECONDS} seconds.</p>`;

const CLICK_RESULT_UNKNOWN =
  ' Your click may or may not have worked: check, and click again if needed. Clicking twice does no harm.';
/** How long a page waits for the connection to Redis to come back. */
const READY_MS = 2_000;

/**
 * Starts the operator's console, as a route of the HTTP port. The console stores nothing, so every process of an installation
 * serves the same pages, and a login holds in all of them. Everybody with `token` can read and act.
 */
export function startConsole(
  { settings, redisAddress, log }: Pick<Root, 'settings' | 'redisAddress' | 'log'>,
  token: string,
  runbookFile = RUNBOOK,
): Service & { routes: Route[] } {
  const redis = connectRedis(redisAddress, 'impatient');
  const source = { redis, shards: settings.SHARDS, settings };
  const runbook = readRunbook(runbookFile, settings.RUNBOOK_URL);
  const app = consoleApp({ settings, redis, source, runbook, token: tokenOf(token), log });
  // Leave Node's global `Request` and `Response` unchanged.
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return {
    name: 'console',
    routes: [{ path: HOME, isTree: true, handle: async (request, response) => listener(request, response) }],
    async stop() {
      redis.disconnect();
    },
  };
}

function consoleApp(parts: ConsoleParts): Hono<VisitEnv> {
  const { redis, log } = parts;
  const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');
  const app = new Hono<VisitEnv>({ strict: false });
  app.use(safeHeaders);
  app.use(async (visit, next) => {
    await next();
    visit.res.headers.set('cache-control', 'no-store');
  });
  app.use(readForm);
  app.get(`${HOME}/style.css`, (visit) => visit.body(style, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.use(requireSession(parts));
  serveLogin(app, parts);
  app.use(async (_, next) => {
    await untilReady(redis, READY_MS);
    await next();
  });
  serveReports(app, parts);
  serveRunbook(app, parts);
  serveActs(app, parts);
  app.notFound((visit) => showProblem(visit as Visit, 404, 'Not found', 'There is no such page.'));
  app.onError((error, visit) => {
    if (error instanceof UnknownName)
      return showProblem(visit, 404, 'Unknown', error.message, choicesHtml(error.choices));
    if (error instanceof UnusableSetting) return showProblem(visit, 500, 'Not shown', error.message);
    log.warn({ err: error }, 'a page of the console could not be made');
    const click = visit.req.method === 'GET' ? '' : CLICK_RESULT_UNKNOWN;
    if (redis.status === 'ready') {
      const text = `Something could not be read or written. The log of this process says more.${click}`;
      return showProblem(visit, 500, 'This page cannot be shown', text);
    }
    const text = `The state is unknown. See "redis-writes" in the runbook.${click}`;
    return showProblem(visit, 503, 'Red: Redis does not answer', text);
  });
  return app;
}

/** Serves each report at its own path, and the search for a message or a chat. */
function serveReports(app: Hono<VisitEnv>, parts: ConsoleParts): void {
  app.get(`${HOME}/find`, (visit) => {
    const name = (visit.req.query('name') ?? '').trim();
    const isMessage = ENTRY_NAME.test(name) || TRACE_NAME.test(name);
    return visit.redirect(`${HOME}/${isMessage ? 'message' : 'chat'}/${encodeURIComponent(name)}`, 303);
  });
  for (const rule of Object.values<ReportRule>(REPORTS)) {
    const path = pathOfReport(rule.page);
    app.get(rule.args === undefined ? path : `${path}/:name{.+}`, (visit) => showReport(visit, parts, rule));
  }
}

async function showReport(visit: Visit, parts: ConsoleParts, { args = [], options = {}, page, read }: ReportRule) {
  const { settings, source, runbook } = parts;
  const words = args.map(() => visit.req.param('name') ?? '');
  const problem = wordsProblem(args, words);
  if (problem !== undefined) throw new UnknownName(problem);
  const query = Object.entries(visit.req.query());
  const values = Object.fromEntries(
    query.filter(([name, value]) => Object.hasOwn(options, name) && !optionProblem(name, value, options[name])),
  );
  const request = { words, options: values, content: settings.LOG_CONTENT };
  const { report } = await (await read())(source, request);
  const context = { nowMs: report.nowMs, formKey: visit.get('formKey') ?? '', runbook: runbook.section };
  const [at, isFirst] = [pathOfReport(page), page === ''];
  const body = html`${resultHtml(visit)}${reportHtml(report, context)}${optionsForm(at, options, values)}${isFirst ? SEARCH : ''}`;
  return show(visit, { title: reportTitle(report), body, at, ...(isFirst && { refreshSeconds: REFRESH_SECONDS }) });
}
