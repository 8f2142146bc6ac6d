import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { alertmanagerSettings, collectorSettings, jaegerSettings, type Ports, prometheusSettings } from './settings.ts';

const read = (...path: string[]): string => readFileSync(join(PROJECT_ROOT, ...path), 'utf8');
const ports: Ports = {
  otlpGrpc: 20_001,
  otlpHttp: 20_002,
  metrics: 20_003,
  collector: 20_004,
  prometheus: 20_005,
  jaegerOtlp: 20_006,
  jaegerQuery: 20_007,
  jaegerGrpc: 20_008,
  alertmanager: 20_009,
};

const written = {
  collector: collectorSettings(read('otel-collector.yaml'), ports),
  prometheus: prometheusSettings(read('ops', 'prometheus.yml'), ports),
  jaeger: jaegerSettings(read('ops', 'jaeger.yaml'), ports, '/elsewhere'),
  alertmanager: alertmanagerSettings(read('ops', 'alertmanager.yml'), 'http://127.0.0.1:20010/hook'),
};

test.each(Object.entries(written))('the file of %s names no address but loopback', (_, text) => {
  const bare = text.replace(/^\s*#.*$/gm, '');
  const addresses = [...bare.matchAll(/[\w.]+:\d{4,5}\b/g)].map(([address]) => address);
  expect(addresses.length).toBeGreaterThan(0);
  expect(addresses.filter((address) => !/^127\.0\.0\.1:200\d\d$/.test(address))).toEqual([]);
  expect(bare).not.toMatch(/0\.0\.0\.0|\/tmp\//);
});

test('each port of the stack is in the file of the program that listens there', () => {
  const { prometheus: _, ...listening } = ports;
  const all = Object.values(written).join('\n');
  expect(Object.values(listening).filter((port) => !all.includes(String(port)))).toEqual([]);
});

test('a collector that does not say when it forgets a process is refused, since its default cannot be made shorter', () => {
  const silent = read('otel-collector.yaml').replace(/^.*metric_expiration.*$/m, '');
  expect(() => collectorSettings(silent, ports)).toThrow('metric_expiration');
});
