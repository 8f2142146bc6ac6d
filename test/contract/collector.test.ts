import { expect, test } from '@jest/globals';
import { all, section, withoutComments } from '../fixture/yaml-text.ts';
import { read } from '../house/sources.ts';

const collector = withoutComments(read('otel-collector.yaml'));
const telemetry = read('shared/base/telemetry.ts');

test('every dimension that the collector derives from spans is an attribute in telemetry.ts', () => {
  const dimensions = all(section(collector, 'connectors'), /- name: (\S+)/g);
  expect(dimensions.length).toBeGreaterThan(0);
  expect(dimensions.filter((name) => !telemetry.includes(`\`${name}\``))).toEqual([]);
});

test('the collector keeps traces by facts that are attributes, and measures also those that it does not keep', () => {
  const processors = section(collector, 'processors');
  const facts = all(processors, /span\.attributes\["([^"]+)"\]/g);
  expect([...new Set(facts)]).toEqual(['spillway.attempt', 'spillway.recovery.stage', 'spillway.verdict']);
  expect(facts.filter((name) => !telemetry.includes(`\`${name}\``))).toEqual([]);
  expect(all(processors, /- name: (\w+)/g)).toEqual(['any', 'failed', 'slow', 'recovered']);
  const pipelines = all(collector, /^ {6}(processors: \[.*\]\n {6}exporters: \[.*\])/gm);
  expect(
    pipelines.filter((pipeline) => pipeline.includes('tail_sampling') && pipeline.includes('span_metrics')),
  ).toEqual([]);
  expect(pipelines.filter((pipeline) => pipeline.includes('jaeger'))).toEqual([
    expect.stringContaining('tail_sampling'),
  ]);
});

test('the collector has no deprecated key, and memory_limiter is first in every pipeline', () => {
  expect(
    named(section(collector, 'exporters')).filter((name) => /^(otlp|otlphttp|logging|jaeger)$/.test(name)),
  ).toEqual([]);
  expect(named(section(collector, 'connectors')).filter((name) => name === 'spanmetrics')).toEqual([]);
  expect(named(section(collector, 'processors')).filter((name) => name === 'batch')).toEqual([]);
  expect(section(collector, 'service')).not.toMatch(/^ +address:/m);
  const pipelines = all(collector, /^ {6}processors: \[([^\]]*)\]/gm);
  expect(pipelines.length).toBeGreaterThan(0);
  expect(pipelines.filter((processors) => !processors.startsWith('memory_limiter'))).toEqual([]);
});

test('the collector shows a dead process for longer than the usual export interval, and no longer than two minutes', () => {
  const [stated = ''] = all(section(collector, 'exporters'), /metric_expiration: (\d+)s/g);
  expect(Number(stated)).toBeGreaterThan(60);
  expect(Number(stated)).toBeLessThanOrEqual(120);
});

test('the collector and the rules wait as long as a turn may take', () => {
  const setting = (name: string) => Number(new RegExp(`^#${name}=(\\d+)000$`, 'm').exec(read('.env.example'))?.[1]);
  const [longest, longestSilence] = [setting('TURN_MAX_MS'), setting('TURN_TIMEOUT_MS')];
  expect(Number(/decision_wait: (\d+)m/.exec(collector)?.[1]) * 60).toBeGreaterThan(longest);
  expect(Number(/, (\d+)s\]$/m.exec(section(collector, 'connectors'))?.[1])).toBeGreaterThanOrEqual(longest);
  const ages = [...read('ops/alerts.yml').matchAll(/turns_running_age_seconds\) > (\d+) < (\d+)/g)];
  expect(ages.map(([, from, to]) => [Number(from), Number(to)])).toEqual(Array(2).fill([longestSilence, longest + 60]));
});

/** The types of the components of a section: the name before a slash. */
function named(block: string): string[] {
  return all(block, /^ {2}([\w]+)(?:\/[\w-]+)?:/gm);
}
