import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { adviceAt, triageOf } from './runbook.ts';

const runbook = readFileSync(join(PROJECT_ROOT, 'docs', 'runbook.md'), 'utf8');

test('the triage names the commands that look, and the operator of a rehearsal runs no other', () => {
  const { commands } = triageOf(runbook);
  expect(commands).toEqual(expect.arrayContaining(['status', 'incidents --open', 'message <id>', 'chat <chat>']));
  expect(commands.filter((command) => /^(?:cancel|retry|pause|resume|dead replay)/.test(command))).toEqual([]);
});

test('the address in a notice leads to a section, of a cause or of a rule', () => {
  expect(adviceAt(runbook, 'no-poll').heading).toBe('no-poll');
  expect(adviceAt(runbook, 'spillwaysilent').heading).toBe('SpillwaySilent');
  expect(() => adviceAt(runbook, 'nowhere')).toThrow('no section nowhere');
});
