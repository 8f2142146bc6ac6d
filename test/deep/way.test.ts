import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { overBudget, WAY_BUDGETS } from '../house/budgets.ts';
import { root } from '../house/sources.ts';

test('the way of a plain message stays within its budget', async () => {
  // A process of its own: what this one has loaded would be counted.
  const { stdout } = await promisify(execFile)('node', ['scripts/run.mjs', 'test/house/main.ts', '--json'], {
    cwd: root,
  });
  expect(overBudget(JSON.parse(stdout), WAY_BUDGETS)).toEqual([]);
}, 120_000);
