import type { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { parseChatKey } from '../../../shared/redis/keys.ts';
import { UnknownNameError } from '../../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT } from '../../../shared/state/lane/stops.ts';
import { findFor, runAct, titleOf } from '../../operator/act.ts';
import { findAct } from '../../operator/acts.ts';
import { questionHtml } from './pages/acts.ts';
import { HOME, type Html } from './pages/layout.ts';
import { type ConsoleParts, cookieOptions, fieldOf, show, showProblem, type Visit, type VisitEnv } from './visit.ts';

/** Holds the result of the last action until the next page shows it. */
const RESULT_COOKIE = 'spillway_done';
const RESULT_SECONDS = 60;

/** Serves the actions whose subject has a name: the page with the question, and the action itself. */
export function serveActs(app: Hono<VisitEnv>, parts: ConsoleParts): void {
  const path = `${HOME}/act/:verb` as const;
  app.get(path, (visit) => serveAct(visit, parts, visit.req.query('target') ?? '', false));
  app.post(path, (visit) => serveAct(visit, parts, fieldOf(visit, 'target'), true));
}

/** Shows the question before an action, or runs the action after a click. 404 if the action or its subject is unknown. */
async function serveAct(visit: Visit, { source, log }: ConsoleParts, target: string, isClick: boolean) {
  const verb = visit.req.param('verb') ?? '';
  const back = pageAfter(verb, target);
  try {
    const act = findAct(verb);
    const subject = await findFor(source, act, target);
    if (!isClick) {
      const [title, text] = [titleOf(act, subject), (await act.warningFor?.(source, subject)) ?? ''];
      const body = questionHtml({ title, text, target, back }, visit.get('formKey') ?? '');
      return show(visit, { title: `${title}?`, body });
    }
    const name = lineOf(visit, 'name');
    const actor = { by: name === '' ? 'console' : `console (${name})`, why: lineOf(visit, 'why') };
    const { kind, text } = await runAct(source, act, subject, actor);
    log.info({ verb, target, result: kind }, 'an operator acted in the console');
    setCookie(visit, RESULT_COOKIE, `${text}.`, cookieOptions(visit, RESULT_SECONDS));
    return visit.redirect(back, 303);
  } catch (error) {
    if (!(error instanceof UnknownNameError)) throw error;
    return showProblem(visit, 404, 'Not done', `${error.message} Nothing was done.`);
  }
}

/** The result of the last action, on one page only; empty HTML if there is none. */
export function resultHtml(visit: Visit): Html {
  const text = getCookie(visit, RESULT_COOKIE);
  if (text === undefined) return html``;
  deleteCookie(visit, RESULT_COOKIE, { path: HOME });
  return html`<p class="done" role="status">${text}</p>`;
}

/** The path of the page to show after an action. */
function pageAfter(verb: string, target: string): string {
  if (target === EVERY_CHAT) return HOME;
  if (verb === 'replay' || verb === 'purge') return `${HOME}/dead`;
  if (verb === 'close') return `${HOME}/incident/${encodeURIComponent(target)}`;
  return `${HOME}/${parseChatKey(target) === undefined ? 'message' : 'chat'}/${encodeURIComponent(target)}`;
}

/** The value of a form's field as one line. */
function lineOf(visit: Visit, field: string): string {
  return fieldOf(visit, field)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
}
