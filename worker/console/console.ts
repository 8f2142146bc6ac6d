import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Route } from '../../shared/app/health.ts';
import type { Config } from '../../shared/base/config.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisAddress } from '../../shared/base/redis-address.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { serveActs } from './acts.ts';
import { serveIncidents } from './incidents.ts';
import { serveLetters } from './letters.ts';
import { guard, serveLogin, tokenOf } from './login.ts';
import { serveMessages } from './messages.ts';
import { HOME, problemPage } from './pages/layout.ts';
import { serveReports } from './reports.ts';
import { readRunbook, serveRunbook } from './runbook.ts';
import { type ConsoleConfig, type DeskPorts, readForm, safeHeaders, show, type Visit, type VisitEnv } from './visit.ts';

export interface ConsolePorts {
  config: ConsoleConfig & Pick<Config, 'SHARDS' | 'RUNBOOK_URL'>;
  /** The operator's token: whoever has it may read and act. */
  token: string;
  redisAddress: RedisAddress;
  log: Logger;
  /** The file of the runbook; the one that comes with the program, unless it is named. */
  runbookFile?: string;
}

const RUNBOOK = join(import.meta.dirname, '..', '..', 'docs', 'runbook.md');

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
  app.use(readForm);
  app.get(`${HOME}/style.css`, (visit) => visit.body(style, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.use(guard(desk));
  serveLogin(app, desk);
  app.use(async (_, next) => {
    await untilReady(desk.redis, READY_MS);
    await next();
  });
  serveReports(app, desk);
  serveIncidents(app, desk);
  serveRunbook(app, desk);
  serveMessages(app, desk);
  serveLetters(app, desk);
  serveActs(app, desk);
  app.notFound((visit) =>
    show(visit as Visit, token, { title: 'Not found', body: problemPage('Not found', 'There is no such page.') }, 404),
  );
  app.onError((error, visit) => {
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
