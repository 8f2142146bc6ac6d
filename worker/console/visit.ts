import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Config } from '../../shared/base/config.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ReportSource } from '../report/source.ts';
import type { StatusLimits } from '../report/status.ts';
import { type Page, pageOf } from './pages/layout.ts';
import type { Token } from './token.ts';

/** A request as the console knows it. */
export interface VisitEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The cookie of the session; absent before a login. */
    session: string | undefined;
  };
}

export type Visit = Context<VisitEnv>;

/** The settings that decide what the console shows. */
export type ConsoleConfig = StatusLimits & Pick<Config, 'LOG_CONTENT' | 'MODEL_PRICES_FILE'>;

/** The parts that pages are made from. */
export interface DeskPorts {
  config: ConsoleConfig;
  redis: RedisClient;
  source: ReportSource;
  token: Token;
  log: Logger;
}

type Status = 200 | 401 | 403 | 404 | 429 | 500 | 503;

/** Answers with a page in which forms belong to the visitor's session. */
export function show(visit: Visit, token: Token, page: Omit<Page, 'formKey'>, status: Status = 200) {
  const session = visit.get('session');
  const keyed = session === undefined ? {} : { formKey: token.formKey(session) };
  return visit.html(pageOf({ ...page, ...keyed }), status);
}
