import { html } from 'hono/html';
import { REPORTS, type ReportRule } from '../../../report/reports.ts';

/** A piece of HTML with all inserted values escaped. */
export type Html = ReturnType<typeof html>;

export const HOME = '/console';

/** The parts of a page. */
export interface Page {
  title: string;
  body: Html;
  /** The page's own path, which the navigation marks as current. */
  at?: string;
  /** After this time the browser loads `at` again or, without `at`, the first page. */
  refreshSeconds?: number;
}

/** The path of a report in the console. Pure. */
export function pathOfReport(page: string): string {
  return page === '' ? HOME : `${HOME}/${page}`;
}

/** A whole page. `formKey` is the key in the session's forms; absent before a login. Pure. */
export function pageHtml({ title, body, at, refreshSeconds }: Page, formKey: string | undefined): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refreshSeconds === undefined ? '' : html`<meta http-equiv="refresh" content="${refreshSeconds}; url=${at ?? HOME}">`}
<title>${title} · Spillway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${HOME}/style.css">
</head>
<body>
${formKey === undefined ? '' : header(at, formKey)}
<main>
${body}
</main>
</body>
</html>
`;
}

function header(at: string | undefined, formKey: string): Html {
  return html`<header>
<span class="brand">Spillway</span>
<nav aria-label="Pages">${Object.values<ReportRule>(REPORTS).map((rule) => link(rule, at))}</nav>
<form method="post" action="${HOME}/logout">${formKeyField(formKey)}<button class="plain">Log out</button></form>
</header>`;
}

function link({ page, link: name }: ReportRule, at: string | undefined): Html {
  if (name === undefined) return html``;
  const path = pathOfReport(page);
  return html`<a href="${path}" ${path === at ? html`aria-current="page"` : ''}>${name}</a>`;
}

/** The hidden field that proves that a form belongs to this session. Pure. */
export function formKeyField(formKey: string): Html {
  return html`<input type="hidden" name="form" value="${formKey}">`;
}

/** The login form; `problem` says why the last try failed. Pure. */
export function loginPage(to: string, problem?: string): Html {
  return html`<div class="login">
<h1>Spillway</h1>
<p>Log in to see how the gateway is doing.</p>
${problem === undefined ? '' : html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${HOME}/login">
<input type="hidden" name="to" value="${to}">
<label for="token">Operator token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>
</div>`;
}

/** The body of a page about a problem. Pure. */
export function problemHtml(title: string, text: string): Html {
  return html`<div class="verdict bad" role="alert"><h1>${title}</h1><p>${text}</p></div>
<p><a href="${HOME}">Back to the status</a></p>`;
}
