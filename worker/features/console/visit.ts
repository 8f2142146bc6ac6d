import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import type { CookieOptions } from 'hono/utils/cookie';
import type { Logger } from '../../../shared/base/log.ts';
import type { Settings } from '../../../shared/base/settings.ts';
import type { RedisClient } from '../../../shared/redis/connection.ts';
import type { ReportSource } from '../../report/report.ts';
import type { Token } from './login.ts';
import { HOME, type Page, pageHtml, problemHtml } from './pages/layout.ts';
import type { Runbook } from './runbook.ts';

/** A request, and the data that our middleware adds to it. */
export interface VisitEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The key of the session's forms; absent before a login. */
    formKey: string | undefined;
    /** The fields of the form that was sent. */
    form: URLSearchParams;
  };
}

export type Visit = Context<VisitEnv>;

/** The parts that pages are made from. */
export interface ConsoleParts {
  settings: Settings;
  redis: RedisClient;
  source: ReportSource;
  runbook: Runbook;
  token: Token;
  log: Logger;
}

type Status = 200 | 401 | 403 | 404 | 500 | 503;

/** Answers with a page in which forms belong to the visitor's session. */
export function show(visit: Visit, page: Page, status: Status = 200) {
  return visit.html(pageHtml(page, visit.get('formKey')), status);
}

/** Answers with a page in place of one that cannot be shown. */
export function showProblem(visit: Visit, status: Status, title: string, text: string, more = html``) {
  return show(visit, { title, body: html`${problemHtml(title, text)}${more}` }, status);
}

/** `Secure` is set behind a proxy that serves https: a browser does not return such a cookie over http. */
export function cookieOptions({ req }: Visit, maxAge: number): CookieOptions {
  const secure = /^\s*https\b/i.test(req.header('x-forwarded-proto') ?? '');
  return { path: HOME, httpOnly: true, sameSite: 'Strict', secure, maxAge };
}

/** A field of a form as text; empty when there is none. */
export function fieldOf(visit: Visit, name: string): string {
  return visit.get('form').get(name) ?? '';
}

const FORM_BYTES_MAX = 16 * 1024;

/**
 * Reads the form of a request, also one that a proxy sends in chunks without a length, and refuses a large one. Hono's
 * `bodyLimit` cannot read chunks here: it needs the global `Request` that the console leaves alone.
 */
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
 * Whether a request was sent by one of our own pages, as `Sec-Fetch-Site` says, or else `Origin`. A request without
 * both headers is refused.
 */
export function isFromOwnPage({ req }: Visit): boolean {
  const [site, origin] = [req.header('sec-fetch-site'), req.header('origin')];
  const host = req.header('x-forwarded-host') ?? req.header('host');
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Our pages run no script, load nothing but our style, and are shown in no frame. */
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
