import {
  type Attributes,
  type Context,
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Telemetry as QueueTelemetry } from 'bullmq';
import type { Exporter } from './exporter.ts';
import { registerTraceIds } from './trace-ids.ts';

/**
 * The spans that we emit: a contract with dashboards and alert rules, held by a test against a real run.
 *
 * | name | kind | where | own attributes |
 * |---|---|---|---|
 * | `receive telegram` | consumer | one accepted update: the root of its trace | `messaging.system`, `spillway.update.id` |
 * | `send inbound` | producer | the entry is on the stream | `messaging.message.id`, `spillway.duplicate` |
 * | `send turns` | producer | the lane's head became a job | `messaging.message.id` |
 * | `process <queue>` | consumer | BullMQ's own, one per run of the job | BullMQ's |
 * | `turn` | internal | one attempt at a message | `spillway.attempt`, `spillway.recovery.stage`, `spillway.verdict`, `spillway.outcome` |
 * | `session.open` | internal | message recorded, window loaded | `spillway.window.records`, `spillway.window.bytes` |
 * | `execute_tool` | internal | one call of a tool | `gen_ai.tool.name`, `error.type` |
 * | `anthropic.messages.create` | client | the SDK's own, after the gen_ai conventions | gen_ai.* |
 * | `anthropic.models.retrieve` | client | the SDK's own: the window was asked for, once a day | |
 * | `reply.deliver` | producer | parts sent to Telegram | `spillway.parts` |
 * | `settle inbound` | client | outcome written, entry acknowledged | `spillway.outcome` |
 * | `queue.context_overflow.detected` | internal | an overflow was classified | `spillway.overflow.kind`, `spillway.recovery.stage`, `spillway.overflow.observed_tokens`, `spillway.overflow.limit_tokens` |
 * | `queue.context_overflow.compacted` | internal | stage 1 was attempted | `success`, `spillway.tokens.before`, `spillway.tokens.after`, `spillway.compaction.calls` |
 * | `queue.context_overflow.new_session` | internal | stage 2: fresh session bound | `has_summary`, `summary_length`, `spillway.session.entries` |
 * | `queue.context_overflow.recovery_failed` | internal | a stage threw, was refused, or did not hold | `spillway.recovery.stage`, `error.type` |
 * | `daemon.context_overflow.recovery` | internal | seed built and delivered | `has_summary`, `summary_length` |
 */
export const SPAN = {
  receive: 'receive telegram',
  accept: 'send inbound',
  enqueue: 'send turns',
  turn: 'turn',
  open: 'session.open',
  tool: 'execute_tool',
  deliver: 'reply.deliver',
  settle: 'settle inbound',
  overflowDetected: 'queue.context_overflow.detected',
  overflowCompacted: 'queue.context_overflow.compacted',
  overflowNewSession: 'queue.context_overflow.new_session',
  overflowRecoveryFailed: 'queue.context_overflow.recovery_failed',
  overflowRecovery: 'daemon.context_overflow.recovery',
} as const;

/** The metrics that we emit, with their attributes. */
export const METRIC = {
  /** Counter: overflows found. `kind`, `stage`. */
  overflows: 'spillway.context_overflow',
  /** Counter: recovery steps. `action` (mask, compact, new_session, scrub, drop_thinking, lower_output, …), `result`. */
  recoveries: 'spillway.recovery',
  /** Counter: violations fixed in requests before they were sent. `rule` (of the API contract), `what`. */
  repairs: 'spillway.request.repairs',
  /** Counter: finished tool calls. `tool`, `result` (ok, error). */
  tools: 'spillway.tool.calls',
  /** Counter: outcomes. `outcome`. */
  outcomes: 'spillway.outcomes',
  /** Counter: messages accepted, duplicates not counted. */
  accepted: 'spillway.messages.accepted',
  /** Counter: updates ignored. `reason`. */
  ignored: 'spillway.updates.ignored',
  /** Counter: webhook deliveries not answered with 200. `status`. */
  refusedDeliveries: 'spillway.webhook.refused',
  /** Counter: sends whose result is unknown. `resent`: whether it was the second and last try. */
  unknownSends: 'spillway.sends.unknown',
  /** Histogram, ms: from the time Telegram got a message to its outcome. `outcome`. */
  latency: 'spillway.message.latency',
} as const;

const SCOPE = 'spillway';
/** Up to the turn timeout and beyond: a message may wait behind others of its chat. */
const LATENCY_BUCKETS_MS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 150_000, 300_000, 900_000];

/** Spans and counters of this process. Every method is safe when nothing is exported. */
export interface Telemetry {
  /** Runs `work` in a span; an error marks the span as failed and is rethrown. */
  span<T>(name: string, attributes: Attributes, work: (span: Span) => Promise<T>, options?: SpanOptions): Promise<T>;
  /** A span without duration: something happened. */
  mark(name: string, attributes: Attributes): void;
  count(metric: (typeof METRIC)[keyof typeof METRIC], attributes: Attributes): void;
  recordMs(metric: typeof METRIC.latency, valueMs: number, attributes: Attributes): void;
  /** For BullMQ; absent when nothing is exported, which saves BullMQ the work. */
  readonly queue: QueueTelemetry | undefined;
  /** Flushes, for at most `deadlineMs`: a dead collector must not hold up an exit. */
  stop(deadlineMs: number): Promise<void>;
}

export interface SpanOptions {
  kind?: SpanKind;
  /** W3C traceparent of the parent; the active span when absent. */
  parent?: string | undefined;
  root?: boolean;
}

/**
 * Starts OpenTelemetry. With `exporting` false (no `OTEL_EXPORTER_OTLP_ENDPOINT`) nothing is recorded or sent, yet
 * every message still has its trace id, for logs, alerts and the ledger. All other settings are the standard `OTEL_*`.
 * The SDK, which is larger than the gateway, is loaded only to export.
 */
export async function startTelemetry(options: { serviceName: string; exporting: boolean }): Promise<Telemetry> {
  if (!options.exporting) return traceIdsOnly();
  const { startExporter } = await import('./exporter.ts');
  return telemetryOver(startExporter(options.serviceName, SCOPE));
}

/** Telemetry that exports nothing, as `startTelemetry` starts it then. */
export function traceIdsOnly(): Telemetry {
  registerTraceIds();
  return telemetryOver({ queue: undefined, shutdown: async () => {} });
}

function telemetryOver({ queue, shutdown }: Exporter): Telemetry {
  const meter = metrics.getMeter(SCOPE);
  const counters = new Map<string, ReturnType<typeof meter.createCounter>>();
  const advice = { explicitBucketBoundaries: LATENCY_BUCKETS_MS };
  const latency = meter.createHistogram(METRIC.latency, { unit: 'ms', advice });
  return {
    span: inSpan,
    mark: (name, attributes) => trace.getTracer(SCOPE).startSpan(name, { attributes }).end(),
    count(metric, attributes) {
      const counter = counters.get(metric) ?? meter.createCounter(metric);
      counters.set(metric, counter);
      counter.add(1, attributes);
    },
    recordMs: (_metric, valueMs, attributes) => latency.record(valueMs, attributes),
    queue,
    async stop(deadlineMs) {
      const flushed = shutdown().catch(() => {});
      await Promise.race([flushed, new Promise((done) => setTimeout(done, deadlineMs).unref())]);
    },
  };
}

/** The W3C traceparent of the active span, or of `ctx`. */
export function traceparent(ctx: Context = context.active()): string {
  const carrier: { traceparent?: string } = {};
  propagation.inject(ctx, carrier);
  return carrier.traceparent ?? '';
}

/** The trace id inside a traceparent; empty when there is none. */
export function traceIdOf(parent: string): string {
  return parent.split('-')[1] ?? '';
}

/** What BullMQ stores with a job so that its `process` span joins the message's trace. */
export function jobTelemetry(parent: string): { metadata: string; omitContext: boolean } {
  return { metadata: JSON.stringify(parent ? { traceparent: parent } : {}), omitContext: false };
}

async function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  options: SpanOptions = {},
): Promise<T> {
  const parent = parentContext(options);
  const span = trace
    .getTracer(SCOPE)
    .startSpan(name, { attributes, kind: options.kind ?? SpanKind.INTERNAL, root: options.root ?? false }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
    throw error;
  } finally {
    span.end();
  }
}

/**
 * A job's own span is already active inside BullMQ's; an explicit parent counts only when it belongs to another trace.
 */
function parentContext(options: SpanOptions): Context {
  const active = context.active();
  if (!options.parent) return active;
  if (trace.getSpanContext(active)?.traceId === traceIdOf(options.parent)) return active;
  return propagation.extract(ROOT_CONTEXT, { traceparent: options.parent });
}
