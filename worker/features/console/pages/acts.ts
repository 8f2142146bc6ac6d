import { html } from 'hono/html';
import type { Act } from '../../../report/report.ts';
import { formKeyField, HOME, type Html } from './layout.ts';

/** A form that sends one of these acts would do it at once. So the button leads to a page that asks first. */
const ASKED: ReadonlySet<Act['verb']> = new Set(['cancel', 'pause', 'purge', 'close']);

/** The buttons of acts, side by side. Pure. */
export function actsHtml(acts: readonly Act[], formKey: string): Html {
  return acts.length === 0 ? html`` : html`<div class="actions">${acts.map((act) => actHtml(act, formKey))}</div>`;
}

function actHtml({ verb, target, label }: Act, formKey: string): Html {
  const isReplayOfMany = verb === 'replay' && target.includes('..');
  if (ASKED.has(verb) || isReplayOfMany)
    return html`<a class="button" href="${HOME}/act/${verb}?target=${encodeURIComponent(target)}">${label}</a>`;
  return html`<form method="post" action="${HOME}/act/${verb}">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}"><button>${label}</button></form>`;
}

/** The question before an act. */
export interface Question {
  /** The act, such as "Pause chat 1001". */
  title: string;
  text: string;
  target: string;
  /** The page to go to instead. */
  back: string;
}

/** The body of the page that asks whether to do an act. Pure. */
export function questionHtml({ title, text, target, back }: Question, formKey: string): Html {
  return html`<h1>${title}?</h1>
<p>${text}</p>
<form class="deed" method="post">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}">
<label for="why">Why (optional)</label>
<input id="why" name="why" maxlength="200" autocomplete="off">
<label for="name">Your name (optional)</label>
<input id="name" name="name" maxlength="60" autocomplete="name">
<p class="note">Both stand in the trail of actions.</p>
<button class="danger">${title}</button></form>
<p><a href="${back}">Leave it as it is</a></p>`;
}
