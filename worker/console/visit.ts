import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Config } from '../../shared/base/config.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ReportSource } from '../report/report.ts';
import type { Token } from './login.ts';
import { type Page, pageOf } from './pages/layout.ts';
import type { Runbook } from './runbook.ts';

/** A request as the console knows it. */
export interface VisitEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The cookie of the session; absent before a login. */
    session: string | undefined;
    /** The fields of the form that was sent. */
    form: URLSearchParams;
  };
}

export type Visit = Context<VisitEnv>;

/** The parts that pages are made from. */
export interface DeskPorts {
  config: Config;
  redis: RedisClient;
  source: ReportSource;
  runbook: Runbook;
  token: Token;
  log: Logger;
}

type Status = 200 | 401 | 403 | 404 | 500 | 503;

/** Answers with a page in which forms belong to the visitor's session. */
export function show(visit: Visit, token: Token, page: Omit<Page, 'formKey'>, status: Status = 200) {
  const session = visit.get('session');
  const keyed = session === undefined ? {} : { formKey: token.formKey(session) };
  return visit.html(pageOf({ ...page, ...keyed }), status);
}

/** A field of a form as text; empty when there is none. */
export function fieldOf(visit: Visit, name: string): string {
  return visit.get('form').get(name) ?? '';
}

/** A form of ours is far smaller. */
const FORM_BYTES_MAX = 16 * 1024;

/** Reads the form of a request, also one that a proxy sends in chunks, without a length; a large one is refused. */
export const readForm: MiddlewareHandler<VisitEnv> = async (visit, next) => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of visit.env.incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > FORM_BYTES_MAX) return visit.text('Too large.', 413);
    chunks.push(chunk);
  }
  visit.set('form', new URLSearchParams(Buffer.concat(chunks).toString()));
  return next();
};

/**
 * Whether a request that changes something was sent by one of our own pages. What the browser itself states counts
 * first; a browser that states nothing is refused.
 */
export function isOwnPage({ req }: Visit): boolean {
  const [site, origin] = [req.header('sec-fetch-site'), req.header('origin')];
  // What a proxy was asked for, or the request's own.
  const host = req.header('x-forwarded-host') ?? req.header('host');
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** A path of the console to go to after a login; the first page when it is anything else. Pure. */
export function pathAfterLogin(to: string, home: string): string {
  const isOurs = (to === home || to.startsWith(`${home}/`)) && /^[\w/.:%?=&*-]+$/.test(to);
  return isOurs && !to.includes('//') && !to.includes('..') ? to : home;
}

/** Our pages run no script, load nothing but our style, are shown in no frame, and are kept nowhere. */
export const safeHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    styleSrc: ["'self'"],
    imgSrc: ['data:'],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: 'DENY',
  // With "no-referrer" a browser would hide the origin of our own forms from us.
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
});
