import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CAUSES } from '../../../worker/alerts/causes.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

/** Holds the runbook to the command line and to the causes of incidents. */
const ROOT = join(import.meta.dirname, '..', '..', '..');
const USAGE = 2;

eachInWorld();

function commandsOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const named = [...text.matchAll(/npm run (?:-s )?cli -- ((?:<[a-z]+>|[^`\n#|<>&;)])+)/g)];
  return [...new Set(named.map(([, command = '']) => command.trim()))];
}

/** What an operator would put into the places that a command leaves open; undefined where it is no whole command. */
function filledIn(command: string): string[] | undefined {
  if (/…|\\$|"\$|\$\{/.test(command) || command === '') return undefined;
  const plain = command
    .replace('<id>', '1700000000000-0')
    .replace('<chat>', '1001')
    .replace(/\bDAYS\b|\bN\b/, '1');
  return [...plain.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

/** What tries every connection, or goes on for ever, has tests of its own. */
const ELSEWHERE = /^(?:check|status --watch|session import)/;

test.each(['docs/runbook.md', 'docs/operations.md'])(
  'every command line of %s is taken by the real one',
  async (page) => {
    const wrong: string[] = [];
    let tried = 0;
    for (const command of commandsOf(page)) {
      const args = filledIn(command);
      if (!args || ELSEWHERE.test(command)) continue;
      tried += 1;
      const { code, stderr } = await runCli(args, world.env);
      if (code === USAGE || code === null) wrong.push(`${command}: ${stderr.split('\n')[0]}`);
    }
    expect(wrong).toEqual([]);
    expect(tried).toBeGreaterThan(3);
  },
);

test('the runbook has a section for each cause of an incident, with the severity that the code has', () => {
  const text = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8');
  const causes = Object.keys(CAUSES);
  const written = [...text.matchAll(/^### ([a-z-]+)\n\nSeverity: (\w+)\.\n/gm)].map(([, name, grave]) => [name, grave]);
  const severities = causes.map((cause) => [cause, CAUSES[cause as keyof typeof CAUSES].severity]);
  const ofStatus = ['redis-writes', 'worker'].map((name) => [name, 'page']);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries([...severities, ...ofStatus]));
  const alerts = text.slice(text.indexOf('## Alerts\n'), text.indexOf('## Dead letters\n'));
  const headings = [...alerts.matchAll(/^### ([a-z-]+)$/gm)].map(([, name = '']) => name);
  expect(headings.filter((name) => !causes.includes(name))).toEqual(['worker', 'redis-writes']);
});

test('the triage has five lines', () => {
  const text = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8');
  const triage = text.slice(text.indexOf('## Triage\n'), text.indexOf('Severities:'));
  expect(triage.match(/^\d\. /gm)).toHaveLength(5);
});

test('what incidents say is to be done names verbs that exist', async () => {
  const { stdout } = await runCli(['help'], {});
  const verbs = new Set([...stdout.matchAll(/^ {2}([a-z|]+)/gm)].flatMap(([, names = '']) => names.split('|')));
  const named = Object.values(CAUSES).flatMap(({ todo }) =>
    [...todo.matchAll(/"cli ([a-z]+)/g)].map(([, verb = '']) => verb),
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((verb) => !verbs.has(verb))).toEqual([]);
});
