import { expect, test } from '@jest/globals';
import { context, trace } from '@opentelemetry/api';
import { SPAN, traceIdOf, traceIdsOnly, traceparent } from '../../../../shared/base/telemetry.ts';
import { registerTraceIds } from '../../../../shared/base/trace-ids.ts';

const FOREIGN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const telemetry = traceIdsOnly();
const idsNow = () => trace.getActiveSpan()?.spanContext();

test('a span without a parent begins a trace, and what is awaited within it stays in that trace', async () => {
  await telemetry.span(SPAN.receive, {}, async (outer) => {
    const { traceId, spanId } = outer.spanContext();
    expect(traceId).toMatch(/^[\da-f]{32}$/);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(traceparent()).toBe(`00-${traceId}-${spanId}-00`);
    await telemetry.span(SPAN.turn, {}, async (inner) => {
      expect(inner.spanContext().traceId).toBe(traceId);
      // Nothing is exported, so it needs no ids of its own.
      expect(inner.spanContext().spanId).toBe(spanId);
      expect(inner.isRecording()).toBe(false);
    });
    await telemetry.span(SPAN.receive, {}, async (fresh) => expect(fresh.spanContext().traceId).not.toBe(traceId), {
      root: true,
    });
    expect(idsNow()?.spanId).toBe(spanId);
  });
  expect(traceparent()).toBe('');
});

test('spans side by side have traces of their own', async () => {
  const seen = await Promise.all(
    [1, 2, 3].map(() =>
      telemetry.span(SPAN.receive, {}, async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return traceIdOf(traceparent());
      }),
    ),
  );
  expect(new Set(seen).size).toBe(3);
});

test('ids of a thousand spans are whole and differ', async () => {
  const spans = Array.from({ length: 1_000 }, () => trace.getTracer('test').startSpan('x').spanContext());
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(spans.length);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(spans.filter(({ traceId, spanId }) => !/^[\da-f]{32}-[\da-f]{16}$/.test(`${traceId}-${spanId}`))).toEqual([]);
});

test('a span continues the trace of a parent in another process, and does not claim that it is recorded', async () => {
  await telemetry.span(
    SPAN.turn,
    {},
    async () =>
      expect(traceparent()).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[\da-f]{16}-00$/),
    { parent: FOREIGN },
  );
});

test('a library that starts an active span, or binds its callbacks, stays in the trace too', () => {
  const tracer = trace.getTracer('library');
  const bound = tracer.startActiveSpan('call', (span) => {
    expect(idsNow()).toEqual(span.spanContext());
    return context.bind(context.active(), idsNow);
  });
  expect(idsNow()).toBeUndefined();
  expect(bound()?.traceId).toMatch(/^[\da-f]{32}$/);
});

test('registering twice changes nothing', async () => {
  await telemetry.span(SPAN.receive, {}, async (span) => {
    registerTraceIds();
    expect(idsNow()).toEqual(span.spanContext());
  });
});
