import { readFileSync } from 'node:fs';
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { HOME, type Html, problemPage } from './pages/layout.ts';
import { markdownHtml } from './pages/markdown.ts';
import { type DeskPorts, show, type VisitEnv } from './visit.ts';

/** The runbook, section by section. An installation may be without its file. */
export type Runbook = ReturnType<typeof readRunbook>;

/** Reads the runbook's file, if it is there. `url` is that of the same page elsewhere. */
export function readRunbook(file: string, url: string | undefined) {
  const sections = sectionsOf(textOf(file));
  const linkOf = (href: string): string | undefined => {
    if (href.startsWith('#')) return sections.has(href.slice(1)) ? pathOfSection(href.slice(1)) : undefined;
    const target = URL.canParse(href, url) ? new URL(href, url) : undefined;
    return target && /^https?:$/.test(target.protocol) ? target.href : undefined;
  };
  return {
    /** The section with this name, as a piece of a page; `undefined` where there is none. */
    section(name: string): Html | undefined {
      const text = sections.get(name);
      return text === undefined ? undefined : markdownHtml(text, linkOf);
    },
    /** Where it is read outside of the console: `RUNBOOK_URL` at this section. */
    address: (name: string): string | undefined =>
      url === undefined ? undefined : `${url}#${encodeURIComponent(name)}`,
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function pathOfSection(name: string): string {
  return `${HOME}/runbook/${encodeURIComponent(name)}`;
}

/** What stands below each heading of the second and third level, by the name that links have for it. Pure. */
export function sectionsOf(markdown: string): ReadonlyMap<string, string> {
  const sections = new Map<string, string>();
  for (const part of markdown.split(/^(?=###? )/m)) {
    const [first = '', ...lines] = part.split('\n');
    const heading = /^###? (.+)$/.exec(first)?.[1];
    if (heading !== undefined) sections.set(freeName(sections, slugOf(heading)), lines.join('\n').trim());
  }
  return sections;
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function freeName(taken: ReadonlyMap<string, string>, name: string, at = 0): string {
  const own = at === 0 ? name : `${name}-${at}`;
  return taken.has(own) ? freeName(taken, name, at + 1) : own;
}

/** Serves the sections, each on a page of its own. */
export function serveRunbook(app: Hono<VisitEnv>, { runbook, token }: DeskPorts): void {
  app.get(`${HOME}/runbook/:name`, (visit) => {
    const name = visit.req.param('name');
    const section = runbook.section(name);
    const elsewhere = elsewhereHtml(runbook, name);
    if (section !== undefined) {
      const body = html`<h1>Runbook: ${name}</h1><section class="runbook">${section}</section>${elsewhere}`;
      return show(visit, token, { title: `Runbook: ${name}`, body });
    }
    const text = 'The runbook of this installation has no such section, or docs/runbook.md is not there.';
    return show(visit, token, { title: 'Not found', body: html`${problemPage('Not found', text)}${elsewhere}` }, 404);
  });
}

/** The runbook's section beside something, or where it is read. */
export function sectionHtml(runbook: Runbook, name: string): Html {
  const section = runbook.section(name);
  const missing = html`<p class="nothing">docs/runbook.md is not there, or has no section of this name.</p>`;
  return html`${section ?? missing}${elsewhereHtml(runbook, name)}`;
}

function elsewhereHtml(runbook: Runbook, name: string): Html {
  const address = runbook.address(name);
  return address === undefined ? html`` : html`<p><a href="${address}">The runbook at its own address</a></p>`;
}
