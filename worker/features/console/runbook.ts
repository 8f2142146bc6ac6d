import { readFileSync } from 'node:fs';
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { HOME, type Html } from './pages/layout.ts';
import { markdownHtml } from './pages/markdown.ts';
import { type ConsoleParts, show, type VisitEnv } from './visit.ts';

export type Runbook = ReturnType<typeof readRunbook>;

/** Reads the sections of the runbook's file; none if the file is missing. `url` is `RUNBOOK_URL`. */
export function readRunbook(file: string, url: string | undefined) {
  const sections = sectionsOf(textOf(file));
  const linkOf = (href: string): string | undefined => {
    if (href.startsWith('#')) return sections.has(href.slice(1)) ? pathOfSection(href.slice(1)) : undefined;
    const target = URL.canParse(href, url) ? new URL(href, url) : undefined;
    return target && /^https?:$/.test(target.protocol) ? target.href : undefined;
  };
  const link = (name: string) => html`<p><a href="${url}#${encodeURIComponent(name)}">Open the full runbook</a></p>`;
  return {
    has: (name: string): boolean => sections.has(name),
    /** The text of a section, or a note that the section is missing; then a link to the section, if `RUNBOOK_URL` is set. */
    section(name: string): Html {
      const text = sections.get(name);
      const body = text === undefined ? MISSING : markdownHtml(text, linkOf);
      return html`${body}${url === undefined ? '' : link(name)}`;
    },
  };
}

const MISSING = html`<p class="nothing">docs/runbook.md is missing, or has no section of this name.</p>`;

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

/** The texts under headings of the second and third level, by the headings' anchors as on GitHub. Pure. */
export function sectionsOf(markdown: string): ReadonlyMap<string, string> {
  const sections = new Map<string, string>();
  for (const part of markdown.split(/^(?=###? )/m)) {
    const [first = '', ...lines] = part.split('\n');
    const heading = /^###? (.+)$/.exec(first)?.[1];
    if (heading !== undefined) sections.set(uniqueName(sections, slugOf(heading)), lines.join('\n').trim());
  }
  return sections;
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function uniqueName(sections: ReadonlyMap<string, string>, name: string, at = 0): string {
  const anchor = at === 0 ? name : `${name}-${at}`;
  return sections.has(anchor) ? uniqueName(sections, name, at + 1) : anchor;
}

/** Serves each section on its own page. */
export function serveRunbook(app: Hono<VisitEnv>, { runbook }: ConsoleParts): void {
  app.get(`${HOME}/runbook/:name`, (visit) => {
    const name = visit.req.param('name');
    const title = `Runbook: ${name}`;
    const body = html`<h1>${title}</h1>${runbook.section(name)}`;
    return show(visit, { title, body }, runbook.has(name) ? 200 : 404);
  });
}
