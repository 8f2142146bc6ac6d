import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SPAN } from '../../../shared/base/telemetry.ts';
import { until } from '../../fixture/root.ts';
import { type Checked, checked, notRun } from './check.ts';
import type { Jaeger } from './jaeger.ts';
import { startStack } from './stack.ts';
import type { Tools } from './tool.ts';

const NAME = 'of plain traces none is kept where TRACES_KEPT_PERCENT is 0, of all others each, as a whole';
const EACH = 20;
const FOUND_MS = 60_000;
const MINUTE_MS = 60_000;

/** How the turn of a trace ended, and how long it took. */
interface Ending {
  attributes: Readonly<Record<string, string | number>>;
  tookMs: number;
  isError?: true;
}

const PLAIN = { 'spillway.attempt': 1, 'spillway.recovery.stage': 'none', 'spillway.verdict': 'settle' };
const TELLING: Readonly<Record<string, Ending>> = {
  failed: { attributes: PLAIN, tookMs: 900, isError: true },
  slow: { attributes: PLAIN, tookMs: MINUTE_MS },
  'a second attempt': { attributes: { ...PLAIN, 'spillway.attempt': 2 }, tookMs: 900 },
  'another stage': { attributes: { ...PLAIN, 'spillway.recovery.stage': 'fresh' }, tookMs: 900 },
  'tried again': { attributes: { ...PLAIN, 'spillway.verdict': 'later' }, tookMs: 900 },
};

/** Sends traces of each kind through a collector of its own that keeps no plain ones. Never rejects. */
export async function checkKept(tools: Tools, folder: string, hookUrl: string): Promise<Checked> {
  const { otelcol, jaeger } = tools;
  if (otelcol === undefined || jaeger === undefined) return notRun(NAME, 'the collector or Jaeger was not found');
  const own = join(folder, 'kept');
  await mkdir(own);
  return checked(NAME, async () => {
    const stack = await startStack({ otelcol, jaeger }, own, hookUrl, { TRACES_KEPT_PERCENT: '0' });
    try {
      return await keptBy(stack.otlpUrl ?? '', stack.jaeger as Jaeger);
    } finally {
      await stack.close();
    }
  });
}

async function keptBy(otlpUrl: string, jaeger: Jaeger): Promise<string> {
  const plain = await sendEach(otlpUrl, { attributes: PLAIN, tookMs: 900 });
  const seen: string[] = [];
  for (const [kind, ending] of Object.entries(TELLING)) {
    const ids = await sendEach(otlpUrl, ending);
    await until(`each of ${kind} as a whole`, async () => (await wholes(jaeger, ids)) === EACH || undefined, FOUND_MS);
    seen.push(kind);
  }
  const kept = (await Promise.all(plain.map((id) => jaeger.trace(id)))).filter((spans) => spans.length > 0).length;
  assert.equal(kept, 0, `${kept} of ${EACH} plain ones were kept`);
  return `${EACH} each of ${seen.join(', ')}; of as many plain ones none`;
}

async function wholes(jaeger: Jaeger, ids: readonly string[]): Promise<number> {
  const traces = await Promise.all(ids.map((id) => jaeger.trace(id)));
  return traces.filter((spans) => spans.length === 3).length;
}

/** Span after span, as a gateway exports them: nothing is known of a trace when its first one comes. */
async function sendEach(otlpUrl: string, { attributes, tookMs, isError }: Ending): Promise<string[]> {
  const ids = Array.from({ length: EACH }, () => randomBytes(16).toString('hex'));
  const spansOf = (name: string, ms: number, more: object) => ids.map((id) => spanOf(id, name, ms, more));
  await send(otlpUrl, spansOf(SPAN.receive, 5, {}));
  const values = Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: value } : { stringValue: value },
  }));
  await send(otlpUrl, spansOf(SPAN.turn, tookMs, { attributes: values, ...(isError && { status: { code: 2 } }) }));
  await send(otlpUrl, spansOf(SPAN.settle, 5, {}));
  return ids;
}

function spanOf(traceId: string, name: string, tookMs: number, more: object): object {
  const [endMs, spanId] = [Date.now(), randomBytes(8).toString('hex')];
  const ns = (ms: number) => `${ms}000000`;
  return { traceId, spanId, name, kind: 1, startTimeUnixNano: ns(endMs - tookMs), endTimeUnixNano: ns(endMs), ...more };
}

async function send(otlpUrl: string, spans: readonly object[]): Promise<void> {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'spillway' } }] };
  const response = await fetch(`${otlpUrl}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }),
  });
  assert.ok(response.ok, `the collector answers ${response.status}`);
}
