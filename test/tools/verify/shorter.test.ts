import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { shorterDuration, shorterExpression, shorterRules, shorterSettings } from './shorter.ts';

const rules = readFileSync(join(PROJECT_ROOT, 'ops', 'alerts.yml'), 'utf8');

test('a duration is so many times shorter, and never shorter than a second', () => {
  expect(['10m', '1h', '15s', '30s'].map((each) => shorterDuration(each, 20))).toEqual(['30s', '180s', '1s', '2s']);
});

test('ranges, steps and limits of age are shorter; counts and shares are not', () => {
  const short = (text: string) => shorterExpression(text, 20);
  expect(short('max(spillway_messages_pending) >= 200 and max(spillway_messages_unanswered_age_seconds) > 300')).toBe(
    'max(spillway_messages_pending) >= 200 and max(spillway_messages_unanswered_age_seconds) > 15',
  );
  expect(short('min_over_time(max(spillway_alerts_backlog)[10m:1m]) > 0')).toBe(
    'min_over_time(max(spillway_alerts_backlog)[30s:3s]) > 0',
  );
  expect(short('histogram_quantile(0.95, rate(spillway_message_latency_seconds_bucket[10m])) > 120')).toBe(
    'histogram_quantile(0.95, rate(spillway_message_latency_seconds_bucket[30s])) > 6',
  );
});

test('of the rules in the repository only times change, and each of them does', () => {
  const short = shorterRules(rules);
  const names = (text: string) => [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(names(short)).toEqual(names(rules));
  expect(short).not.toMatch(/for: \d+[mh]$|\[\d+[mh]/m);
  expect(short).toContain('max(spillway_messages_unanswered_age_seconds) > 30\n');
  expect(short).toContain('runbook_url: docs/runbook.md#spillwaysilent');
});

test('settings keep everything but durations, and how long data is kept', () => {
  expect(shorterSettings('a: 15s\nretention:\n  time: 15d\nport: 4317\nlist: [2ms, 5ms]', 20)).toBe(
    'a: 1s\nretention:\n  time: 15d\nport: 4317\nlist: [2ms, 5ms]',
  );
});
