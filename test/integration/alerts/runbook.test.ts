import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { ALERT_WORDS } from '../../../worker/alerts/causes/words.ts';
import { CAUSES, SEVERITIES } from '../../../worker/alerts/causes.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';

/** Holds the runbook to the command line and to the causes of incidents. */
const USAGE = 2;

eachInWorld();

const textOf = (page: string): string => readFileSync(join(PROJECT_ROOT, page), 'utf8');

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

const RUNBOOK = textOf('docs/runbook.md');
const alerts = readdirSync(join(PROJECT_ROOT, 'worker/alerts/causes'))
  .map((name) => textOf(`worker/alerts/causes/${name}`).replaceAll(/"(npm [^"]*)"/g, '`$1`'))
  .join('\n')
  .replaceAll(/\$\{entry\}/g, '<id>');

test.each([
  ['docs/runbook.md', RUNBOOK],
  ['docs/operations.md', textOf('docs/operations.md')],
  ['alerts', alerts],
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
  expect(tried).toBeGreaterThan(2);
});

test('each cause has a section of at most twelve lines: its severity, what people see, what to do', () => {
  const [, chapter = ''] = RUNBOOK.split('## Alerts\n');
  const sections = (chapter.split("### The dead-man's")[0] ?? '').split(/^### /m).slice(1);
  const head = /^(\S+)\n\nSeverity: ([a-z ]+)\. \S.*\n\n(?:\*\*(?:Check|Do)|1\. )/;
  const written = sections.map((text) => head.exec(text)?.slice(1) ?? [text, '']);
  const wordsOf = (severity: keyof typeof SEVERITIES) => SEVERITIES[severity].words.toLowerCase();
  const causes = Object.entries(CAUSES).map(([cause, { severity }]) => [cause, wordsOf(severity)]);
  // No incident can report the last two.
  expect(written.toSorted()).toEqual([...causes, ['redis-writes', 'page'], ['worker', 'page']].toSorted());
  expect(sections.filter((text) => text.trim().split('\n').length > 12)).toEqual([]);
  const ofRules = [...RUNBOOK.matchAll(/^### Spillway\w+\n\n(.+)$/gm)].map(([, first = '']) => first);
  expect(ofRules.filter((first) => !/^(?:\*\*Do:|See )/.test(first))).toEqual([]);
});

test('it can be read at night: 3,500 words at most, five lines of triage, and buttons that exist', () => {
  expect(RUNBOOK.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(3_500);
  const triage = RUNBOOK.slice(RUNBOOK.indexOf('## Triage\n'), RUNBOOK.indexOf('Severities:'));
  expect(triage.match(/^\d\. /gm)).toHaveLength(5);
  const labels: readonly string[] = Object.values(ALERT_WORDS.acts);
  const buttons = [...RUNBOOK.matchAll(/“([^”]+)”/g)].map(([, button = '']) => button.replaceAll(/\s+/g, ' '));
  expect(new Set(buttons)).toEqual(new Set(labels));
});
