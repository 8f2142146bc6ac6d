import { expect, test } from '@jest/globals';
import { pageOf } from './page.ts';
import { inUnit, plotOf } from './plot.ts';
import type { AskedPanel } from './query.ts';

const span = { fromMs: 0, toMs: 100_000, stepS: 100 };
const bands = [{ number: 1, name: 'an <outage>', fromMs: 20_000, toMs: 60_000 }];
const panel = { board: 'Overview', title: 'Ages & more', kind: 'timeseries', unit: 's', targets: [], searches: [] };
const series = [{ labels: { job: 'a"b' }, points: [[0, 0] as const, [100_000, 10] as const] }];

function panelWith(more: Partial<AskedPanel['panel']>, verdict: 'data' | 'EMPTY' = 'data'): AskedPanel {
  const targets = [{ expr: 'up', legend: '{{job}}', hasExemplars: false }];
  const asked = [{ expr: 'up', legend: '{{job}}', verdict, series: verdict === 'data' ? series : [] }];
  return { panel: { ...panel, targets, ...more }, asked };
}

test('a line goes from the left to the right of the plot, up to the round number above its values, over the shaded hours', () => {
  const svg = plotOf(panelWith({}), span, bands);
  expect(svg).toContain('points="52.0,132.0 412.0,8.0"');
  expect(svg).toContain('<title>1. an &lt;outage></title>');
  expect(svg).toContain('>10 s</text>');
});

test('a line is not drawn through a time in which there was none', () => {
  const svg = plotOf(panelWith({}), { ...span, stepS: 10 }, bands);
  expect(svg.match(/<polyline/g)).toHaveLength(2);
  expect(svg).toContain('points="52.0,132.0 52.0,132.0"');
});

test('the page shows a plot, a number or that there is no data, and nothing in it is taken for markup', () => {
  const panels = [
    panelWith({}),
    panelWith({ title: 'Share', kind: 'stat', unit: 'percentunit' }),
    panelWith({ title: 'Nothing' }, 'EMPTY'),
  ];
  const html = pageOf({ title: 'Day', note: 'a < b', panels, bands, span });
  expect(html).toContain('<h3>Ages &amp; more</h3><svg');
  expect(html).toContain('</i>a&quot;b</span>');
  expect(html).toContain('<div class="number">1000 %</div>');
  expect(html).toContain('<h3>Nothing</h3><p class="empty">no data</p>');
  expect(html).toContain('a &lt; b');
  expect(html).not.toMatch(/https?:|<script/);
});

test('numbers are short, in the unit of their panel', () => {
  expect([inUnit(0.256, 'percentunit'), inUnit(1_500, 'ms'), inUnit(3, 'short'), inUnit(0.1234, 'short')]).toEqual([
    '26 %',
    '1.5 s',
    '3',
    '0.12',
  ]);
});
