import type { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { findFor, runAct, titleOf } from '../operator/act.ts';
import { actNamed } from '../operator/acts.ts';
import { pathOfAct, questionPage } from './pages/acts.ts';
import { HOME, type Html, problemPage } from './pages/layout.ts';
import { type DeskPorts, fieldOf, show, type Visit, type VisitEnv } from './visit.ts';

/** Holds the words for the last act until a page has shown them. */
const DONE = 'spillway_done';
const DONE_SECONDS = 60;

/** Serves the acts of the table whose subject a text can name: a question, and the act itself. */
export function serveActs(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const path = `${HOME}/act/:verb` as const;
  app.get(path, (visit) => serve(visit, desk, visit.req.query('target') ?? '', false));
  app.post(path, (visit) => serve(visit, desk, fieldOf(visit, 'target'), true));
}

/** Asks for an act, or does it. Where there is nothing of the name, the page says so. */
async function serve(visit: Visit, { source, token, log }: DeskPorts, target: string, isClick: boolean) {
  const verb = visit.req.param('verb') ?? '';
  const back = pageOf(verb, target);
  try {
    const act = actNamed(verb);
    const subject = await findFor(source, act, target);
    if (!isClick) {
      const [title, text] = [titleOf(act, subject), (await act.asks?.(source, subject)) ?? ''];
      const question = { title, text, action: pathOfAct(verb), target, back };
      const body = questionPage(question, token.formKey(visit.get('session') ?? ''));
      return show(visit, token, { title: `${title}?`, body });
    }
    const { kind, text } = await runAct(source, act, subject, attributionOf(visit));
    log.info({ verb, target, result: kind }, 'an operator acted in the console');
    setCookie(visit, DONE, `${text}.`, { path: HOME, httpOnly: true, sameSite: 'Strict', maxAge: DONE_SECONDS });
    return visit.redirect(back, 303);
  } catch (error) {
    if (!(error instanceof UnknownNameError)) throw error;
    const body = problemPage('Not done', `${error.message} Nothing was done.`);
    return show(visit, token, { title: 'Not done', body }, 404);
  }
}

/** The words for what was done by the click before this page. */
export function saidOf(visit: Visit): Html {
  const text = getCookie(visit, DONE);
  if (text === undefined) return html``;
  deleteCookie(visit, DONE, { path: HOME });
  return html`<p class="done" role="status">${text}</p>`;
}

/** The page that shows what became of it. */
function pageOf(verb: string, target: string): string {
  if (target === EVERY_CHAT) return HOME;
  if (verb === 'replay' || verb === 'purge') return `${HOME}/dead`;
  if (verb === 'close') return `${HOME}/incident/${encodeURIComponent(target)}`;
  return `${HOME}/${parseChatKey(target) === undefined ? 'message' : 'chat'}/${encodeURIComponent(target)}`;
}

/** Who acts: whoever has the token is the same to us, and may say more. */
function attributionOf(visit: Visit): Attribution {
  const lineOf = (field: string) =>
    fieldOf(visit, field)
      .replaceAll(/\p{Cc}+/gu, ' ')
      .trim();
  const name = lineOf('name');
  return { by: name === '' ? 'console' : `console (${name})`, why: lineOf('why') };
}
