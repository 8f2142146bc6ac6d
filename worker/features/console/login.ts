import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Hono, MiddlewareHandler } from 'hono';
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { rareWarning } from '../../../shared/base/log.ts';
import { HOME, loginPage } from './pages/layout.ts';
import { type ConsoleParts, cookieOptions, fieldOf, isFromOwnPage, show, showProblem, type VisitEnv } from './visit.ts';

const SESSION_SECONDS = 12 * 3600;

export type Token = ReturnType<typeof tokenOf>;

/**
 * Keys and checks derived from the operator's token. A login is only a signed cookie, so a login outlives restarts and holds in
 * every process of the installation. A new token ends all logins at once. Pure.
 */
export function tokenOf(token: string) {
  const cookieKey = mac(token, 'spillway console');
  return {
    /** Compares a text with the token in constant time, which does not reveal even the token's length. */
    isEqualTo: (text: string) => isSame(text, token),
    /** The key that signs the cookie of a session. */
    cookieKey,
    /** The key in the forms of a session. Other sites cannot know it. */
    formKey: (session: string) => mac(cookieKey, `form ${session}`).toString('base64url'),
  };
}

function mac(key: string | Buffer, text: string) {
  return createHmac('sha256', key).update(text).digest();
}

function isSame(one: string, other: string): boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestOf(one), digestOf(other));
}

/** The cookie of a session. Its value is the session's end in ms since the epoch, with a signature. */
const COOKIE = 'spillway_console';
const LOGIN = `${HOME}/login`;

const PATH_CHARS_LOGGED = 100;
const FOREIGN_FORM = 'This form did not come from this console, so nothing was done. Load the page again.';
const STALE_FORM = 'You have logged in again since this page was loaded, so nothing was done. Load the page again.';
const LOGGED_OUT = 'Your login has ended, so nothing was done. Log in and try again.';

type LoginParts = Pick<ConsoleParts, 'token' | 'log'>;

/**
 * Answers requests without a session with the login form. A request that changes something must come from a page of the
 * console, and, unless it is the login, have the form key of its session.
 */
export function requireSession({ token, log }: LoginParts): MiddlewareHandler<VisitEnv> {
  const warn = rareWarning(log, 'the console refused a form that was not its own');
  return async (visit, next) => {
    const { method, path } = visit.req;
    const refuse = (text: string) => {
      warn({ path: path.slice(0, PATH_CHARS_LOGGED) });
      return showProblem(visit, 403, 'Not done', text);
    };
    const isChange = method !== 'GET' && method !== 'HEAD';
    if (isChange && !isFromOwnPage(visit)) return refuse(FOREIGN_FORM);
    if (isChange && path === LOGIN) return next();
    const session = await getSignedCookie(visit, token.cookieKey, COOKIE);
    if (!session || !(Number(session) > Date.now())) {
      const to = isChange || path === LOGIN ? HOME : `${path}${new URL(visit.req.url).search}`;
      return show(visit, { title: 'Log in', body: loginPage(to, isChange ? LOGGED_OUT : undefined) }, 401);
    }
    const formKey = token.formKey(session);
    visit.set('formKey', formKey);
    if (isChange && !isSame(fieldOf(visit, 'form'), formKey)) return refuse(STALE_FORM);
    return next();
  };
}

/**
 * Serves the login and the logout. There is no limit on wrong tokens: behind a proxy all visitors have the same address, so a
 * limit would lock out the operator, and nobody can guess a token of 32 characters.
 */
export function serveLogin(app: Hono<VisitEnv>, { token, log }: LoginParts): void {
  const warn = rareWarning(log, 'the console was asked with a wrong token');
  app.post(LOGIN, async (visit) => {
    const address = visit.env.incoming.socket.remoteAddress ?? '';
    const to = pathAfterLogin(fieldOf(visit, 'to'));
    if (!token.isEqualTo(fieldOf(visit, 'token').trim())) {
      warn({ address });
      return show(visit, { title: 'Log in', body: loginPage(to, 'Wrong token: this is not the OPERATOR_TOKEN.') }, 401);
    }
    log.info({ address }, 'somebody logged in to the console');
    const endsAtMs = Date.now() + SESSION_SECONDS * 1000;
    await setSignedCookie(visit, COOKIE, `${endsAtMs}`, token.cookieKey, cookieOptions(visit, SESSION_SECONDS));
    return visit.redirect(to, 303);
  });
  app.get(LOGIN, (visit) => visit.redirect(HOME, 303));
  app.post(`${HOME}/logout`, (visit) => {
    deleteCookie(visit, COOKIE, { path: HOME });
    return visit.redirect(HOME, 303);
  });
}

/** The path of the page after a login. A path that could lead outside the console becomes the first page. */
function pathAfterLogin(to: string): string {
  const isConsolePath = /^\/console(?:[/?]|$)/.test(to) && /^[\w/.:%?=&*+-]+$/.test(to);
  return isConsolePath && !to.includes('//') && !to.includes('..') ? to : HOME;
}
