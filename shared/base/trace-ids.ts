import { randomBytes } from 'node:crypto';
import {
  type Context,
  context,
  isSpanContextValid,
  type Span,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/**
 * Registers a tracer that gives each span ids and records nothing. A span has the trace id of its parent, also after an await.
 * The OpenTelemetry SDK could do the same, but takes long to load. Idempotent; does not replace a tracer that is already
 * registered.
 */
export function registerTraceIds(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  registerIdTracer();
}

/** Registers only the tracer. For an SDK that exports only metrics, and so registers a context manager but no tracer. */
export function registerIdTracer(): void {
  trace.setGlobalTracerProvider({ getTracer: () => TRACER });
}

const TRACER: Tracer = {
  startSpan,
  startActiveSpan<Work extends (span: Span) => unknown>(name: string, ...rest: unknown[]) {
    const work = rest.at(-1) as Work;
    const [options, explicitParent] = rest.slice(0, -1) as [SpanOptions?, Context?];
    const parent = explicitParent ?? context.active();
    const span = startSpan(name, options, parent);
    return context.with(trace.setSpan(parent, span), () => work(span)) as ReturnType<Work>;
  },
};

function startSpan(_name: string, options?: SpanOptions, ctx: Context = context.active()): Span {
  const parent = options?.root ? undefined : trace.getSpanContext(ctx);
  const isKnown = parent !== undefined && isSpanContextValid(parent);
  return trace.wrapSpanContext({
    traceId: isKnown ? parent.traceId : randomId(TRACE_ID_BYTES),
    spanId: randomId(SPAN_ID_BYTES),
    traceFlags: TraceFlags.NONE,
  });
}

/** The number of random bytes to request at once, because a request for each id would be the slowest step of a span. */
const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

function randomId(bytes: number): string {
  if (pool.length < bytes) pool = randomBytes(POOL_BYTES);
  const id = pool.toString('hex', 0, bytes);
  pool = pool.subarray(bytes);
  return id;
}

let chosenId: string | undefined;

/** The generator of ids for the OpenTelemetry SDK. Its ids are random, except for the id of a span of `startWithId`. */
export const IDS = {
  generateTraceId: () => randomId(TRACE_ID_BYTES),
  generateSpanId: () => chosenId ?? randomId(SPAN_ID_BYTES),
};

/** Starts one span with a given id, so that other spans can refer to it. Without the SDK, the span has a random id. */
export function startWithId(id: string, start: () => Span): Span {
  chosenId = id;
  try {
    return start();
  } finally {
    chosenId = undefined;
  }
}
