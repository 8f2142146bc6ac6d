import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Hono, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { rareWarning } from '../../shared/base/log.ts';
import { HOME, loginPage, problemPage } from './pages/layout.ts';
import { type DeskPorts, fieldOf, isOwnPage, pathAfterLogin, show, type Visit, type VisitEnv } from './visit.ts';

/** How long a login lasts. */
const SESSION_MS = 12 * 3600_000;

export type Token = ReturnType<typeof tokenOf>;

/**
 * The proofs that are derived from the operator's token. Nothing is stored: a login outlives restarts, holds in every
 * process of the installation, and ends at once for all when the token is replaced. Pure.
 */
export function tokenOf(token: string) {
  const key = mac(token, 'spillway console');
  const sign = (expires: string) => mac(key, `session ${expires}`).toString('base64url');
  /** The key that the forms of a session carry, which no other site can know. */
  const formKey = (session: string) => mac(key, `form ${session}`).toString('base64url');
  return {
    /** Compares in a time that reveals nothing about the token, not even its length. */
    isGiven: (text: string) => isSame(text, token),
    /** The cookie of a login at that time. */
    session(nowMs: number): string {
      const expires = String(nowMs + SESSION_MS);
      return `${expires}.${sign(expires)}`;
    },
    /** Whether a cookie is of a login that still lasts. */
    isSession(cookie: string | undefined, nowMs: number): cookie is string {
      const [, expires = '', signature = ''] = /^(\d{1,15})\.([\w-]+)$/.exec(cookie ?? '') ?? [];
      return isSame(signature, sign(expires)) && Number(expires) > nowMs;
    },
    formKey,
    /** Whether a form is of this session. */
    isFormKey: (session: string, given: string) => isSame(given, formKey(session)),
  };
}

function mac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function isSame(one: string, other: string): boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestOf(one), digestOf(other));
}

const COOKIE = 'spillway_console';
const LOGIN = `${HOME}/login`;

const PATH_SHOWN = 100;
const NOT_OURS = problemPage('Not done', 'This form was not sent by a page of this console. Load the page again.');
const STALE = problemPage(
  'Not done',
  'You have logged in again since this page was loaded. Nothing was done: load the page again, and then do it.',
);
const LOGGED_OUT = 'Your login has ended, and nothing was done. Log in, and do it again.';

type Door = Pick<DeskPorts, 'token' | 'log'>;

/**
 * Lets nobody in without a session: whoever has none gets the form for the token in place of the page. A request that
 * changes something must come from one of our own pages, and carry the key of the session.
 */
export function guard({ token, log }: Door): MiddlewareHandler<VisitEnv> {
  const noteForeign = rareWarning(log, 'the console refused a form that was not its own');
  const refuse = (visit: Visit, body = NOT_OURS) => {
    noteForeign({ path: visit.req.path.slice(0, PATH_SHOWN) });
    return show(visit, token, { title: 'Not done', body }, 403);
  };
  return async (visit, next) => {
    const { method, path } = visit.req;
    const changes = method !== 'GET' && method !== 'HEAD';
    if (changes && !isOwnPage(visit)) return refuse(visit);
    const session = getCookie(visit, COOKIE);
    if (path === LOGIN && changes) return next();
    if (!token.isSession(session, Date.now())) {
      const to = changes || path === LOGIN ? HOME : path;
      return show(visit, token, { title: 'Log in', body: loginPage(to, changes ? LOGGED_OUT : undefined) }, 401);
    }
    visit.set('session', session);
    if (changes && !token.isFormKey(session, fieldOf(visit, 'form'))) return refuse(visit, STALE);
    return next();
  };
}

/**
 * Serves the login and its end. Nothing counts wrong tokens: behind a proxy that would lock out the operator, whose address is
 * everybody's, and a token of 32 characters is not guessed.
 */
export function serveLogin(app: Hono<VisitEnv>, { token, log }: Door): void {
  const noteWrong = rareWarning(log, 'the console was asked with a wrong token');
  app.post(LOGIN, async (visit) => {
    const address = visit.env.incoming.socket.remoteAddress ?? '';
    const to = pathAfterLogin(fieldOf(visit, 'to'), HOME);
    if (!token.isGiven(fieldOf(visit, 'token').trim())) {
      noteWrong({ address });
      return show(visit, token, { title: 'Log in', body: loginPage(to, 'This is not the token.') }, 401);
    }
    log.info({ address }, 'somebody logged in to the console');
    setCookie(visit, COOKIE, token.session(Date.now()), {
      ...{ path: HOME, httpOnly: true, sameSite: 'Strict', maxAge: SESSION_MS / 1000 },
      // As the proxy in front of us says.
      secure: /^\s*https\b/i.test(visit.req.header('x-forwarded-proto') ?? ''),
    });
    return visit.redirect(to, 303);
  });
  app.get(LOGIN, (visit) => visit.redirect(HOME, 303));
  app.post(`${HOME}/logout`, (visit) => {
    deleteCookie(visit, COOKIE, { path: HOME });
    return visit.redirect(HOME, 303);
  });
}
