import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import type { CookieOptions } from 'hono/utils/cookie';
import { readAtMost } from '../../../shared/base/bounded-read.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { Settings } from '../../../shared/base/settings.ts';
import type { RedisClient } from '../../../shared/redis/connection.ts';
import type { ReportContext } from '../../report/report.ts';
import type { Token } from './login.ts';
import { HOME, type Page, pageHtml, problemHtml } from './pages/layout.ts';
import type { Runbook } from './runbook.ts';

/** Hono's types of a request, with the data that the console's middleware adds. */
export interface VisitEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The key in the session's forms; absent before a login. */
    formKey: string | undefined;
    form: URLSearchParams;
  };
}

export type Visit = Context<VisitEnv>;

/** The dependencies of the console's pages. */
export interface ConsoleParts {
  settings: Settings;
  redis: RedisClient;
  source: ReportContext;
  runbook: Runbook;
  token: Token;
  log: Logger;
}

type Status = 200 | 401 | 403 | 404 | 500 | 503;

/** Answers with a page whose forms have the form key of the visitor's session. */
export function show(visit: Visit, page: Page, status: Status = 200) {
  return visit.html(pageHtml(page, visit.get('formKey')), status);
}

/** Answers with a page about a problem. */
export function showProblem(visit: Visit, status: Status, title: string, text: string, more = html``) {
  return show(visit, { title, body: html`${problemHtml(title, text)}${more}` }, status);
}

/** Options of the console's cookies. Sets `Secure` only behind an https proxy: browsers send no such cookies over http. */
export function cookieOptions({ req }: Visit, maxAge: number): CookieOptions {
  const secure = /^\s*https\b/i.test(req.header('x-forwarded-proto') ?? '');
  return { path: HOME, httpOnly: true, sameSite: 'Strict', secure, maxAge };
}

/** The value of a form's field; empty if absent. */
export function fieldOf(visit: Visit, name: string): string {
  return visit.get('form').get(name) ?? '';
}

const FORM_BYTES_MAX = 16 * 1024;

/** Reads a form, even in chunks, and refuses a large one. Hono's `bodyLimit` would need Hono's global `Request` for chunks. */
export const readForm: MiddlewareHandler<VisitEnv> = async (visit, next) => {
  const form = await readAtMost(visit.env.incoming, FORM_BYTES_MAX);
  if (form === undefined) return visit.text('Too large.', 413);
  visit.set('form', new URLSearchParams(form.toString()));
  return next();
};

/** Whether a page of the console sent a request, according to `Sec-Fetch-Site` or else `Origin`. Without either header: no. */
export function isFromOwnPage({ req }: Visit): boolean {
  const [site, origin] = [req.header('sec-fetch-site'), req.header('origin')];
  const host = req.header('x-forwarded-host') ?? req.header('host');
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Response headers that forbid scripts, frames and foreign styles. */
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
  // With "no-referrer" a browser would send the console's forms without an `Origin`.
  referrerPolicy: 'same-origin',
  strictTransportSecurity: false,
});
