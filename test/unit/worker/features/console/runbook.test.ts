import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CAUSES } from '../../../../../worker/alerts/causes.ts';
import { markdownHtml } from '../../../../../worker/features/console/pages/markdown.ts';
import { readRunbook, sectionsOf } from '../../../../../worker/features/console/runbook.ts';
import { temporaryFile } from '../../../../fixture/temporary-file.ts';

const FILE = join(import.meta.dirname, '..', '..', '..', '..', '..', 'docs', 'runbook.md');

const shown = (markdown: string) => String(markdownHtml(markdown, (href) => (href === '#ok' ? '/there' : undefined)));

test('lists, tables, code and marks of a section become those of a page', () => {
  const page = shown(
    'Do **this**: `a < b`.\n\n1. one\n   more\n2. two\n\n```\nrm -rf "x"\n```\n\n| reason | do |\n|---|---|\n| `x` | [y](#ok) |\n',
  );
  expect(page).toContain('<p>Do <strong>this</strong>: <code>a &lt; b</code>.</p>');
  expect(page).toMatch(/<ol>\n<li>one\nmore<\/li>\n<li>two<\/li>\n<\/ol>/);
  expect(page).toContain('<pre><code>rm -rf &quot;x&quot;');
  expect(page).toContain('<td><code>x</code></td>');
  expect(page).toContain('<a href="/there">y</a>');
});

test('HTML in a text is shown as text, and a link that leads nowhere of ours is its words', () => {
  const evil = [
    '<script>alert(1)</script>',
    'a <img src=x onerror=alert(1)> b',
    '[click](javascript:alert(1)) ![pic](http://x.example/"onerror=alert(1))',
    '| <b>h</b> |\n|---|\n| <i onclick=x>c</i> |',
    '```"><script>\n<script>\n```',
    '<http://x.example/"><script>> &lt;b&gt; \\<b>',
    '- [ ] <b>x</b>',
    '> <iframe>',
  ];
  for (const each of evil) {
    const page = shown(each);
    expect([each, /<(?:script|img|iframe|b>h|i |b>x)|href="(?!\/there)|onerror="/.test(page)]).toEqual([each, false]);
  }
});

test('each cause of an incident has its section, up to the next heading; headings that are alike have names of their own', () => {
  const names = [...sectionsOf(readFileSync(FILE, 'utf8')).keys()];
  expect(new Set(names).size).toBe(names.length);
  const runbook = readRunbook(FILE, 'https://wiki.example/runbook.md');
  for (const cause of Object.keys(CAUSES)) expect([cause, runbook.has(cause)]).toEqual([cause, true]);
  const telegram = String(runbook.section('provider'));
  expect(telegram).toContain('Severity: page.');
  expect(telegram).not.toContain('A reply could not be delivered');
  expect(String(runbook.section('dead-letters'))).toContain('href="/console/runbook/dead-letters-1"');
  expect(String(runbook.section('fresh-session'))).toContain(
    'href="https://wiki.example/telemetry.md#a-trace-of-stage-2"',
  );
});

test('a link of the file leads to our sections and to http, and nowhere else', async () => {
  const links =
    '[a](#there) [b](#gone) [c](javascript:alert(1)) [d](data:text/html,x) [e](other.md) [f](http://x.example/)';
  const file = await temporaryFile(`### there\n${links}\n`);
  const hrefs = (url?: string) =>
    [...String(readRunbook(file, url).section('there')).matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
  expect(hrefs()).toEqual(['/console/runbook/there', 'http://x.example/']);
  expect(hrefs('https://w.example/docs/runbook.md')).toEqual([
    ...['/console/runbook/there', 'https://w.example/docs/other.md', 'http://x.example/'],
    'https://w.example/docs/runbook.md#there',
  ]);
});
