import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type OtlpStandIn, startOtlp } from '../stand-in/otlp.ts';

/** What our exporters send, and what is read of it: `integration/observe/telemetry.test.ts`. */

let otlp: OtlpStandIn;
beforeEach(async () => {
  otlp = await startOtlp();
});
afterEach(() => otlp.close());

const JSON_TYPE = { 'content-type': 'application/json' };

test.each<[name: string, path: string, init: RequestInit, status: number, says: string]>([
  [
    'protobuf, with the setting to change',
    '/v1/traces',
    { method: 'POST', body: 'x', headers: { 'content-type': 'application/x-protobuf' } },
    415,
    'set OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
  ],
  ['invalid JSON', '/v1/traces', { method: 'POST', body: '{', headers: JSON_TYPE }, 400, 'is no JSON object'],
  ['another route', '/v1/profiles', { method: 'POST', body: '{}', headers: JSON_TYPE }, 404, 'no such path'],
  ['another method', '/v1/traces', {}, 404, 'no such path'],
])('refuses %s', async (_, path, init, status, says) => {
  const answer = await fetch(otlp.url + path, init);
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(says)]);
  await expect(otlp.waitForSpan(() => true, 20)).rejects.toThrow(`No matching span within 20 ms. Seen: ${status}`);
});

test('keeps the latest point of a series, and accepts gzip', async () => {
  const point = (value: number, kind: string) => {
    const attributes = [{ key: 'kind', value: { stringValue: kind } }];
    const metric = { name: 'n', sum: { dataPoints: [{ asInt: String(value), attributes }] } };
    return gzipSync(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] }));
  };
  const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
  for (const body of [point(1, 'a'), point(5, 'b'), point(2, 'a')])
    await fetch(`${otlp.url}/v1/metrics`, { method: 'POST', body: new Uint8Array(body), headers });
  expect(otlp.metrics.map(({ value, attributes }) => [attributes.kind, value])).toEqual([
    ['a', 2],
    ['b', 5],
  ]);
});
