import { html } from 'hono/html';
import type { Act } from '../../report/report.ts';
import { formKeyField, HOME, type Html } from './layout.ts';

/** Where an act is asked for once more, and done. Pure. */
export function pathOfAct(verb: string): string {
  return `${HOME}/act/${verb}`;
}

/** These are asked for on a page of their own, which takes a reason. */
const ASKED: ReadonlySet<Act['verb']> = new Set(['cancel', 'pause', 'purge', 'close']);

/** Whether an act has a page of its own: also to put back all letters of a time. */
function isAsked({ verb, target }: Act): boolean {
  return ASKED.has(verb) || (verb === 'replay' && target.includes('..'));
}

/** Where something leads that is done elsewhere. */
export interface Way {
  href: string;
  label: string;
}

/** Acts side by side: a button where one does it at once, or else a link to the page that asks. Pure. */
export function actsHtml(acts: readonly Act[], formKey: string, ways: readonly Way[] = []): Html {
  if (acts.length + ways.length === 0) return html``;
  return html`<div class="actions">${ways.map(wayHtml)}${acts.map((act) => actHtml(act, formKey))}</div>`;
}

function wayHtml({ href, label }: Way): Html {
  return html`<a class="button" href="${href}">${label}</a>`;
}

function actHtml(act: Act, formKey: string): Html {
  const { verb, target, label } = act;
  if (isAsked(act)) return wayHtml({ href: `${pathOfAct(verb)}?target=${encodeURIComponent(target)}`, label });
  return html`<form method="post" action="${pathOfAct(verb)}">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}"><button>${label}</button></form>`;
}

/** A question before something is done, with who does it and why. */
export interface Question {
  /** What is done, such as "Pause chat 1001". */
  title: string;
  text: string;
  action: string;
  target: string;
  /** Where to go instead. */
  back: string;
}

/** A question as the body of a page. Pure. */
export function questionPage({ title, text, action, target, back }: Question, formKey: string): Html {
  return html`<h1>${title}?</h1>
<p>${text}</p>
<form class="deed" method="post" action="${action}">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}">
${WHO}<button class="danger">${title}</button></form>
<p><a href="${back}">Leave it as it is</a></p>`;
}

const WHO = html`<label for="why">Why (optional)</label>
<input id="why" name="why" maxlength="200" autocomplete="off">
<label for="name">Your name (optional)</label>
<input id="name" name="name" maxlength="60" autocomplete="name">
<p class="note">Both stand in the trail of actions.</p>`;
