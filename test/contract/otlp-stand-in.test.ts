import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { type OtlpStandIn, startOtlp } from '../stand-in/otlp.ts';

const open: OtlpStandIn[] = [];

async function start(): Promise<OtlpStandIn> {
  const otlp = await startOtlp();
  open.push(otlp);
  return otlp;
}

afterEach(() => Promise.all(open.splice(0).map((otlp) => otlp.close())));

/** What a real program sends: two spans, one inside the other, a linked one that failed, and two observability. */
const PROGRAM = `
import { metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
const sdk = new NodeSDK();
sdk.start();
const tracer = trace.getTracer('contract');
tracer.startActiveSpan('outer', { kind: SpanKind.CONSUMER, attributes: { chat: 1001, tags: ['a', 'b'] } }, (outer) => {
  tracer.startActiveSpan('inner', (inner) => { inner.addEvent('noted', { ok: true }); inner.end(); });
  outer.end();
  const late = tracer.startSpan('late', { root: true, links: [{ context: outer.spanContext() }] });
  late.setStatus({ code: SpanStatusCode.ERROR, message: 'too late' });
  late.end();
});
const meter = metrics.getMeter('contract');
meter.createCounter('replies', { unit: '{reply}' }).add(2, { kind: 'final' });
meter.createHistogram('wait', { unit: 's' }).record(1.5);
await sdk.shutdown();
`;

function run(endpoint: string, protocol: string): Promise<{ stderr: string }> {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_SERVICE_NAME: 'program',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_NODE_RESOURCE_DETECTORS: 'env',
  };
  return promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM], { env, timeout: 20_000 });
}

test('parses the spans and metrics that the OpenTelemetry SDK exports as JSON', async () => {
  const otlp = await start();
  await run(otlp.url, 'http/json');
  const outer = await otlp.waitForSpan(({ name }) => name === 'outer');
  const [inner, late] = ['inner', 'late'].map((wanted) => otlp.spans.find(({ name }) => name === wanted));
  expect(outer).toMatchObject({ kind: 'consumer', service: 'program', scope: 'contract', status: { code: 'unset' } });
  expect(outer.attributes).toEqual({ chat: 1001, tags: ['a', 'b'] });
  expect([outer.parentSpanId, inner?.parentSpanId]).toEqual([undefined, outer.spanId]);
  expect(outer.endMs).toBeGreaterThanOrEqual(outer.startMs);
  expect(Math.abs(outer.startMs - Date.now())).toBeLessThan(60_000);
  expect(inner?.events).toMatchObject([{ name: 'noted', attributes: { ok: true } }]);
  expect(late).toMatchObject({ status: { code: 'error', message: 'too late' } });
  expect(late?.links).toMatchObject([{ traceId: outer.traceId, spanId: outer.spanId }]);
  expect(otlp.trace(outer.traceId).map(({ name }) => name)).toEqual(['outer', 'inner']);
  const points = otlp.metrics.filter(({ name }) => ['replies', 'wait'].includes(name));
  expect(points).toMatchObject([
    { name: 'replies', unit: '{reply}', attributes: { kind: 'final' }, value: 2, service: 'program' },
    { name: 'wait', unit: 's', value: 1.5, count: 1 },
  ]);
  expect(otlp.refusals).toEqual([]);
});

function post(
  otlp: OtlpStandIn,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Response> {
  return fetch(otlp.url + path, { method: 'POST', body, headers });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const counted = (value: number, kind: string) => {
  const attributes = [{ key: 'kind', value: { stringValue: kind } }];
  const metric = { name: 'n', sum: { dataPoints: [{ asInt: String(value), attributes }] } };
  return JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] });
};

test('keeps the latest point of a series, and accepts gzip', async () => {
  const otlp = await start();
  await post(otlp, '/v1/metrics', counted(1, 'a'), JSON_TYPE);
  await post(otlp, '/v1/metrics', counted(5, 'b'), JSON_TYPE);
  const zipped = new Uint8Array(gzipSync(counted(2, 'a')));
  expect((await post(otlp, '/v1/metrics', zipped, { ...JSON_TYPE, 'content-encoding': 'gzip' })).status).toBe(200);
  expect(otlp.metrics.map(({ value, attributes }) => [attributes.kind, value])).toEqual([
    ['a', 2],
    ['b', 5],
  ]);
});

test('answers 415 to protobuf with the setting to change, 400 to invalid JSON and 404 to other routes', async () => {
  const otlp = await start();
  const answers = [
    await post(otlp, '/v1/traces', 'x', { 'content-type': 'application/x-protobuf' }),
    await post(otlp, '/v1/traces', '{', JSON_TYPE),
    await post(otlp, '/v1/profiles', '{}', JSON_TYPE),
    await fetch(`${otlp.url}/v1/traces`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([415, 400, 404, 404]);
  expect(await answers[0]?.text()).toContain('set OTEL_EXPORTER_OTLP_PROTOCOL=http/json');
  await expect(otlp.waitForSpan(() => true, 20)).rejects.toThrow('No matching span within 20 ms. Seen: 415');
});
