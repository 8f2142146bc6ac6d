import { html } from 'hono/html';
import { HOME, type Html } from './layout.ts';

/** The form for the operator's token, with why the last try failed. Pure. */
export function loginPage(to: string, problem?: string): Html {
  return html`<div class="login">
<h1>Spillway</h1>
<p>This page shows how the gateway fares, to whoever has the operator's token.</p>
${problem === undefined ? '' : html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${HOME}/login">
<input type="hidden" name="to" value="${to}">
<label for="token">Operator token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>
</div>`;
}

/** What a reader sees in place of a page that cannot be shown. Pure. */
export function problemPage(title: string, text: string): Html {
  return html`<div class="verdict bad" role="alert"><h1>${title}</h1><p>${text}</p></div>
<p><a href="${HOME}">Back to the status</a></p>`;
}
