import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { WAY_BUDGETS } from '../house/budgets.ts';
import { root } from '../house/sources.ts';

test('the way of a plain message stays within its budget', async () => {
  // A process of its own: what this one has loaded would be counted.
  const { stdout } = await promisify(execFile)('node', ['scripts/run.mjs', 'test/house/main.ts', '--json'], {
    cwd: root,
  });
  const figures = JSON.parse(stdout) as Record<string, number>;
  const over = Object.entries(WAY_BUDGETS).filter(([name, most]) => !((figures[name] ?? Infinity) <= most));
  expect(over.map(([name, most]) => `${name}: ${figures[name]} of ${most}`)).toEqual([]);
}, 120_000);
