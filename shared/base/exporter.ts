import { INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import type { Telemetry as QueueTelemetry } from 'bullmq';
import { BullMQOTelSpan, BullMQOtel } from 'bullmq-otel';

/** What sends the spans and metrics of this process. */
export interface Exporter {
  /** For BullMQ; absent when nothing is exported, which saves BullMQ the work. */
  readonly queue: QueueTelemetry | undefined;
  /** Contract: sends what is left; it may reject, and may take as long as the collector does. */
  shutdown(): Promise<void>;
}

const HOUSEKEEPING =
  /^(?:extendLocks|startStalledCheckTimer|moveStalledJobsToWait|addBulk|getNextJob|rateLimit|close)\b/;

/** Starts the OpenTelemetry SDK for this process, set by the standard `OTEL_*`. */
export function startExporter(serviceName: string, scope: string): Exporter {
  const sdk = new NodeSDK({ serviceName, logRecordProcessors: [] });
  sdk.start();
  return { queue: quiet(new BullMQOtel({ tracerName: scope })), shutdown: () => sdk.shutdown() };
}

/** BullMQ's housekeeping would fill the trace store with one-span traces every few seconds; those are not recorded. */
function quiet(telemetry: BullMQOtel): QueueTelemetry {
  const { tracer } = telemetry;
  const silent = () => new BullMQOTelSpan(trace.wrapSpanContext(INVALID_SPAN_CONTEXT));
  return {
    contextManager: telemetry.contextManager,
    tracer: {
      startSpan: (name, options, ctx) => (HOUSEKEEPING.test(name) ? silent() : tracer.startSpan(name, options, ctx)),
    },
  } as QueueTelemetry;
}
