import { expect, test } from '@jest/globals';
import type { Found } from './operator.ts';
import { findingsOf, notRunLines, summaryOf, telemetryReport, type Verified } from './report.ts';

const asked = { expr: 'up', series: [] };
const panel = { board: 'Overview', title: 'Ages', kind: 'timeseries', unit: 's', targets: [], searches: [] };
const looks = [
  { at: 'cli status', tookMs: 500, namesCause: false },
  { at: 'cli message 1790000000000-0', tookMs: 700, namesCause: true },
];
const found: Found = {
  ...{ name: 'one chat is stuck', by: 'Telegram' as const, alert: 'stuck', heading: 'unanswered', looks },
  ...{ alertAfterMs: 6_000, alertNamesCause: false, foundAt: 'cli message 1790000000000-0', foundMs: 1_200 },
};
const hour = { name: 'an outage', fires: ['Down'], fromMs: 0, toMs: 10_000, seen: new Map([['Down', 4_000]]) };
const rule = { name: 'Down', health: 'ok', hour: 'an outage', firedAfterS: 4, firingS: 6 };

function verified(more: Partial<Verified>): Verified {
  const empty = { files: [], hours: [], rules: [], panels: [], checks: [], pictures: [], found: [] };
  return { startedMs: 0, endedMs: 60_000, tools: {}, ...empty, ...more };
}

test('a rule that stays silent, an empty panel, a cause that nobody names: each is a finding', () => {
  const run = verified({
    hours: [{ ...hour, seen: new Map() }],
    rules: [
      { ...rule, firedAfterS: undefined },
      { ...rule, name: 'Unplayed', hour: undefined },
    ],
    panels: [
      {
        panel,
        asked: [
          { ...asked, verdict: 'EMPTY' },
          { ...asked, verdict: 'rightly empty', why: 'no webhook' },
        ],
      },
    ],
    checks: [{ name: 'a trace', verdict: 'DIFFERS', seen: 'it has no root' }],
    found: [{ ...found, foundAt: undefined, foundMs: undefined }],
  });
  expect(findingsOf(run)).toEqual([
    'a trace: it has no root',
    'the rule Down did not fire in its hour',
    'the rule Unplayed did not fire in its hour',
    'the panel "Ages" is empty: up',
    'one chat is stuck: nothing named the cause',
  ]);
  expect(summaryOf(run)).toContain('0 of 2 rules fired');
});

test('a day on which all went as it must has no finding, and the report names no id of the run', () => {
  const pictures = [{ file: 'jaeger-cut.webp', about: 'a turn', webp: Buffer.from('') }];
  const run = verified({ hours: [hour], rules: [rule], pictures, found: [found] });
  expect(findingsOf(run)).toEqual([]);
  const text = telemetryReport(run, '../images');
  expect(text).toContain('![Jaeger: a turn](../images/jaeger-cut.webp)');
  expect(text).toContain('| 1 | an outage | 10 s | Down |');
  expect(text).toContain('`cli message <id>` | 1.2 s | 1 of 2');
  expect(text).not.toContain('1790000000000');
});

test('what could not be run is said plainly, in the report as well', () => {
  const run = verified({
    files: [{ name: 'the rules are parsed', verdict: 'not run', seen: 'promtool was not found' }],
  });
  expect(notRunLines(run)).toContain('Not run: the rules are parsed, since promtool was not found.');
  expect(telemetryReport(run, '')).toContain('- prometheus was not found, so it is not shown that rules fire');
});
