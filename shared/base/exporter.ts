import { NodeSDK } from '@opentelemetry/sdk-node';
import type { Telemetry as QueueTelemetry } from 'bullmq';
import { BullMQOtel } from 'bullmq-otel';

/** Sends the spans and metrics of this process. */
export interface Exporter {
  /** For BullMQ; absent when nothing is exported, which saves BullMQ the work. */
  readonly queue: QueueTelemetry | undefined;
  /** Contract: sends what is left; it may reject, and may take as long as the collector does. */
  shutdown(): Promise<void>;
}

/** Starts the OpenTelemetry SDK for this process, set by the standard `OTEL_*`. */
export function startExporter(serviceName: string, scope: string): Exporter {
  const sdk = new NodeSDK({ serviceName, logRecordProcessors: [] });
  sdk.start();
  return { queue: new BullMQOtel({ tracerName: scope }), shutdown: () => sdk.shutdown() };
}
