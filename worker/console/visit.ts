import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { Config } from '../../shared/base/config.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ReportSource } from '../report/report.ts';
import type { StatusLimits } from '../report/status.ts';
import type { Token } from './login.ts';
import { type Page, pageOf } from './pages/layout.ts';
import type { Runbook } from './runbook.ts';

/** A request as the console knows it. */
export interface VisitEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The cookie of the session; absent before a login. */
    session: string | undefined;
    /** The fields of the form that was sent; absent before it is read. */
    form: URLSearchParams | undefined;
  };
}

export type Visit = Context<VisitEnv>;

/** The settings that decide what the console shows. */
export type ConsoleConfig = StatusLimits & Pick<Config, 'LOG_CONTENT' | 'MODEL_PRICES_FILE' | 'TRACE_URL_TEMPLATE'>;

/** The parts that pages are made from. */
export interface DeskPorts {
  config: ConsoleConfig;
  redis: RedisClient;
  source: ReportSource;
  runbook: Runbook;
  token: Token;
  log: Logger;
}

type Status = 200 | 400 | 401 | 403 | 404 | 429 | 500 | 503;

/** Answers with a page in which forms belong to the visitor's session. */
export function show(visit: Visit, token: Token, page: Omit<Page, 'formKey'>, status: Status = 200) {
  const session = visit.get('session');
  const keyed = session === undefined ? {} : { formKey: token.formKey(session) };
  return visit.html(pageOf({ ...page, ...keyed }), status);
}

/** A field of a form as text; empty when there is none. */
export function fieldOf(visit: Visit, name: string): string {
  return visit.get('form')?.get(name) ?? '';
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

/** The headers by which a browser says where a request comes from. */
export interface RequestOrigin {
  origin?: string | undefined;
  fetchSite?: string | undefined;
  /** The host that the browser asked for: what a proxy passed on, or the request's own. */
  host?: string | undefined;
}

/**
 * Whether a request that changes something was sent by one of our own pages. What the browser itself states counts
 * first; a browser that states nothing is refused. Pure.
 */
export function isSameOrigin({ origin, fetchSite, host }: RequestOrigin): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Whether the browser reached us by https, as the proxy in front of us says. Pure. */
export function isHttps(forwardedProto: string | undefined): boolean {
  return forwardedProto?.split(',')[0]?.trim().toLowerCase() === 'https';
}

/** A path of the console to go to after a login; the first page when it is anything else. Pure. */
export function pathAfterLogin(to: string | undefined, home: string): string {
  const isOurs = to !== undefined && (to === home || to.startsWith(`${home}/`)) && /^[\w/.:%?=&*-]+$/.test(to);
  return isOurs && !to.includes('//') && !to.includes('..') ? to : home;
}

/** Our pages run no script, load nothing but our style, and are shown in no frame. */
const PAGES = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGES,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With "no-referrer" a browser would hide the origin of our own forms from us.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Adds what every answer of the console says to a browser, errors included. */
export const safeHeaders: MiddlewareHandler<VisitEnv> = async (visit, next) => {
  await next();
  const { headers } = visit.res;
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
};
