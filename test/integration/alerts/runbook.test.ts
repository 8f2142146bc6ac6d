import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CAUSES, SEVERITIES } from '../../../worker/alerts/causes.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

/** Holds the runbook to the command line and to the causes of incidents. */
const ROOT = join(import.meta.dirname, '..', '..', '..');
const USAGE = 2;

eachInWorld();

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

function commandsOf(text: string): string[] {
  const named = [...text.matchAll(/npm run (?:-s )?cli -- ((?:<[a-z]+>|[^`\n#|<>&;)])+)/g)];
  return [...new Set(named.map(([, command = '']) => command.trim()))];
}

/** What an operator would put into the places that a command leaves open; undefined where it is no whole command. */
function filledIn(command: string): string[] | undefined {
  if (/…|\\$|"\$|\$\{/.test(command) || command === '') return undefined;
  const plain = command
    .replace('<id>', '1700000000000-0')
    .replace(/<chat>|<who>/, '1001')
    .replace(/\bDAYS\b|\bN\b/, '1');
  return [...plain.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

/** What tries every connection, or goes on for ever, has tests of its own. */
const ELSEWHERE = /^(?:check|status --watch|session import)/;

const alerts = ['worker/alerts/causes'].flatMap((folder) =>
  readdirSync(join(ROOT, folder)).map((name) => textOf(`${folder}/${name}`)),
);

test.each([
  ['docs/runbook.md', textOf('docs/runbook.md')],
  ['docs/operations.md', textOf('docs/operations.md')],
  [
    'alerts',
    alerts
      .join('\n')
      .replaceAll(/"(npm [^"]*)"/g, '`$1`')
      .replaceAll(/\$\{entry\}/g, '<id>'),
  ],
])('every command line of %s is written as it is typed, and taken by the real one', async (_, text) => {
  const wrong = [...text.matchAll(/"cli [^"]*"|`cli dead[^`]*`/g)].map(([short]) => short);
  let tried = 0;
  for (const command of commandsOf(text)) {
    const args = filledIn(command);
    if (!args || ELSEWHERE.test(command)) continue;
    tried += 1;
    const { code, stderr } = await runCli(args, world.env);
    if (code === USAGE || code === null) wrong.push(`${command}: ${stderr.split('\n')[0]}`);
  }
  expect(wrong).toEqual([]);
  expect(tried).toBeGreaterThan(3);
});

test('the runbook has a section for each cause of an incident, with the severity that the code has', () => {
  const text = textOf('docs/runbook.md');
  const causes = Object.keys(CAUSES);
  const written = [...text.matchAll(/^### ([a-z-]+)\n\nSeverity: ([\w ]+)\.\n/gm)].map(([, name, grave]) => [
    name,
    grave,
  ]);
  const severities = causes.map((cause) => [
    cause,
    SEVERITIES[CAUSES[cause as keyof typeof CAUSES].severity].words.toLowerCase(),
  ]);
  const ofStatus = ['redis-writes', 'worker'].map((name) => [name, 'page']);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries([...severities, ...ofStatus]));
  const alerts = text.slice(text.indexOf('## Alerts\n'), text.indexOf('## Dead letters\n'));
  const headings = [...alerts.matchAll(/^### ([a-z-]+)$/gm)].map(([, name = '']) => name);
  expect(headings.filter((name) => !causes.includes(name))).toEqual(['worker', 'redis-writes']);
});

test('the triage has five lines', () => {
  const text = textOf('docs/runbook.md');
  const triage = text.slice(text.indexOf('## Triage\n'), text.indexOf('Severities:'));
  expect(triage.match(/^\d\. /gm)).toHaveLength(5);
});

test('it can be read at night: at most 3,500 words, and what to do is the first line of each section', () => {
  const text = textOf('docs/runbook.md');
  expect(text.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(3_500);
  const firsts = [...text.matchAll(/^### (.+)\n\n(?:Severity: [\w ]+\.\n\n)?(.+)$/gm)];
  expect(firsts.length).toBeGreaterThan(40);
  expect(firsts.filter(([, , line = '']) => !/^(?:\*\*Do\b|1\. |See )/.test(line)).map(([, name]) => name)).toEqual([]);
});
