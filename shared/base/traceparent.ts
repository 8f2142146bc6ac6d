import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

/** W3C trace context: version, trace id, span id, flags. Later versions may add fields, version ff is forbidden. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** A span's W3C traceparent; empty when there is none. */
export function writeTraceparent(span: SpanContext | undefined): string {
  if (span === undefined || !isSpanContextValid(span)) return '';
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
}

/** The span that a W3C traceparent names, as another process' one; `undefined` when it names none. */
export function readTraceparent(text: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}
