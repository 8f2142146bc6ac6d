import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import {
  type Context,
  type ContextManager,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/**
 * Gives every span of this process its ids, and records none: what the OpenTelemetry SDK does when nothing is exported,
 * without loading it. A span belongs to the trace of its parent, also across asynchronous steps. Idempotent; leaves what is
 * already registered.
 */
export function registerTraceIds(): void {
  context.setGlobalContextManager(asyncContext());
  registerIdTracer();
}

/** The same where the SDK has registered its context, because it exports metrics alone. */
export function registerIdTracer(): void {
  trace.setGlobalTracerProvider({ getTracer: () => TRACER });
}

/** The context follows what is awaited. */
function asyncContext(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const boundTo = (ctx: Context, target: () => void) => storage.run(ctx, () => AsyncLocalStorage.bind(target));
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (ctx, work, self, ...args) => storage.run(ctx, () => work.apply(self, args)),
    bind: (ctx, target) => (typeof target === 'function' ? (boundTo(ctx, target as never) as typeof target) : target),
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

const TRACER: Tracer = {
  startSpan,
  startActiveSpan<Work extends (span: Span) => unknown>(name: string, ...rest: unknown[]) {
    const work = rest.at(-1) as Work;
    const [options, given] = rest.slice(0, -1) as [SpanOptions?, Context?];
    const parent = given ?? context.active();
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

/** Random bytes for many ids: asking for each by itself takes longer than all else that a span needs. */
const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

function randomId(bytes: number): string {
  if (pool.length < bytes) pool = randomBytes(POOL_BYTES);
  const id = pool.toString('hex', 0, bytes);
  pool = pool.subarray(bytes);
  return id;
}

let chosenId: string | undefined;

/** The ids that the SDK gives: by chance, but for a span that `startWithId` starts. */
export const IDS = {
  generateTraceId: () => randomId(TRACE_ID_BYTES),
  generateSpanId: () => chosenId ?? randomId(SPAN_ID_BYTES),
};

/** Starts one span under an id that others can tell without having seen the span. */
export function startWithId(id: string, start: () => Span): Span {
  chosenId = id;
  try {
    return start();
  } finally {
    chosenId = undefined;
  }
}
