import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { filledIn, legendOf, readPanels } from './board.ts';

const panels = readPanels(join(PROJECT_ROOT, 'ops', 'grafana', 'dashboards'));
const span = { fromMs: 0, toMs: 300_000, stepS: 2 };

test('every panel has expressions or a search for traces, and no variable is left in any expression', () => {
  expect(panels.length).toBeGreaterThan(30);
  expect(panels.filter(({ targets, searches }) => targets.length + searches.length === 0)).toEqual([]);
  const filled = panels.flatMap(({ targets }) => targets.map(({ expr }) => filledIn(expr, span)));
  expect(filled.filter((expr) => expr.includes('$'))).toEqual([]);
  expect(filledIn('rate(a[$__rate_interval]) + increase(b[$__range])', span)).toBe('rate(a[4s]) + increase(b[300s])');
});

test('a legend holds the values of the labels that it names', () => {
  const labels = { action: 'compact', result: 'ok', alertname: 'SpillwaySlow' };
  expect(legendOf('{{action}}: {{ result }}', labels)).toBe('compact: ok');
  expect(legendOf('{{absent}}', labels)).toBe('');
  expect(legendOf('__auto', labels)).toBe('SpillwaySlow');
});
