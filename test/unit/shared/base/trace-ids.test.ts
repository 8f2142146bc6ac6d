import { expect, test } from '@jest/globals';
import { context, trace } from '@opentelemetry/api';
import { readTraceparent } from '../../../../shared/base/spans.ts';
import { SPAN, traceIdOf, traceIdsOnly, traceparent } from '../../../../shared/base/telemetry.ts';
import { registerTraceIds } from '../../../../shared/base/trace-ids.ts';

const FOREIGN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const telemetry = traceIdsOnly();
const idsNow = () => trace.getActiveSpan()?.spanContext();
const moment = () => new Promise((resolve) => setImmediate(resolve));

test('a span without a parent begins a trace, and what is awaited within it stays in that trace', async () => {
  await telemetry.span(SPAN.receive, {}, async (outer) => {
    const { traceId, spanId } = outer.spanContext();
    expect(traceId).toMatch(/^[\da-f]{32}$/);
    await moment();
    // Registering twice changes nothing.
    registerTraceIds();
    expect(traceparent()).toBe(`00-${traceId}-${spanId}-00`);
    await telemetry.span(SPAN.turn, {}, async (inner) => {
      // Nothing is exported, so it needs no ids of its own.
      expect(inner.spanContext()).toMatchObject({ traceId, spanId });
      expect(inner.isRecording()).toBe(false);
    });
    const isOther = async (fresh: typeof outer) => expect(fresh.spanContext().traceId).not.toBe(traceId);
    await telemetry.span(SPAN.receive, {}, isOther, { root: true });
    expect(idsNow()?.spanId).toBe(spanId);
  });
  expect(traceparent()).toBe('');
});

test('spans side by side have traces of their own, and ids of a thousand spans are whole and differ', async () => {
  const inSpan = async () => {
    await moment();
    return traceIdOf(traceparent());
  };
  expect(new Set(await Promise.all([1, 2, 3].map(() => telemetry.span(SPAN.receive, {}, inSpan)))).size).toBe(3);
  const spans = Array.from({ length: 1_000 }, () => trace.getTracer('test').startSpan('x').spanContext());
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(spans.length);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(spans.filter(({ traceId, spanId }) => !/^[\da-f]{32}-[\da-f]{16}$/.test(`${traceId}-${spanId}`))).toEqual([]);
});

test('a span continues the trace of a parent in another process, and does not claim that it is recorded', async () => {
  const continued = /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[\da-f]{16}-00$/;
  await telemetry.span(SPAN.turn, {}, async () => expect(traceparent()).toMatch(continued), { parent: FOREIGN });
});

test('a library that starts an active span, or binds its callbacks, stays in the trace too', () => {
  const bound = trace.getTracer('library').startActiveSpan('call', (span) => {
    expect(idsNow()).toEqual(span.spanContext());
    return context.bind(context.active(), idsNow);
  });
  expect(idsNow()).toBeUndefined();
  expect(bound()?.traceId).toMatch(/^[\da-f]{32}$/);
});

test.each([
  ['of the forbidden version', FOREIGN.replace(/^00/, 'ff')],
  ['with an id of zeros', FOREIGN.replace(/-[\da-f]{32}-/, `-${'0'.repeat(32)}-`)],
  ['with an id in capitals', FOREIGN.toUpperCase()],
  ['that is cut off', FOREIGN.slice(0, -3)],
  ['that is no traceparent', 'x'],
])('a parent %s is ignored', (_, parent) => {
  expect(readTraceparent(parent)).toBeUndefined();
});

test('a parent of a later version, which may have more fields, is understood', () => {
  const later = `${FOREIGN.replace(/^00/, '01')}-more`;
  expect(readTraceparent(later)).toMatchObject({ traceId: traceIdOf(FOREIGN), traceFlags: 1, isRemote: true });
});
