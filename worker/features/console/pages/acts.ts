import { html } from 'hono/html';
import type { ActionButton } from '../../../report/report.ts';
import { formKeyField, HOME, type Html } from './layout.ts';

/** Actions whose buttons always lead to a question first. A replay of many dead letters needs a question, too. */
const NEEDS_QUESTION: ReadonlySet<ActionButton['verb']> = new Set(['cancel', 'pause', 'purge', 'close']);

/** Buttons side by side. Pure. */
export function buttonsHtml(buttons: readonly ActionButton[], formKey: string): Html {
  if (buttons.length === 0) return html``;
  return html`<div class="actions">${buttons.map((button) => buttonHtml(button, formKey))}</div>`;
}

function buttonHtml({ verb, target, label }: ActionButton, formKey: string): Html {
  const isReplayOfMany = verb === 'replay' && target.includes('..');
  if (NEEDS_QUESTION.has(verb) || isReplayOfMany)
    return html`<a class="button" href="${HOME}/act/${verb}?target=${encodeURIComponent(target)}">${label}</a>`;
  return html`<form method="post" action="${HOME}/act/${verb}">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}"><button>${label}</button></form>`;
}

/** The question before an action. */
export interface Question {
  /** The action, such as "Pause chat 1001". */
  title: string;
  text: string;
  target: string;
  /** The path of the page to which "Leave it as it is" leads. */
  back: string;
}

/** The body of the page with the question before an action. Pure. */
export function questionHtml({ title, text, target, back }: Question, formKey: string): Html {
  return html`<h1>${title}?</h1>
<p>${text}</p>
<form class="deed" method="post">${formKeyField(formKey)}
<input type="hidden" name="target" value="${target}">
<label for="why">Why (optional)</label>
<input id="why" name="why" maxlength="200" autocomplete="off">
<label for="name">Your name (optional)</label>
<input id="name" name="name" maxlength="60" autocomplete="name">
<p class="note">Both are recorded with the action.</p>
<button class="danger">${title}</button></form>
<p><a href="${back}">Leave it as it is</a></p>`;
}
