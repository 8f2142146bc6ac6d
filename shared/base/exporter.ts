import { NodeSDK } from '@opentelemetry/sdk-node';
import { IDS } from './trace-ids.ts';

/** Sends the spans and metrics of this process. */
export interface Exporter {
  /** Contract: sends what is left; it may reject, and may take as long as the collector does. */
  shutdown(): Promise<void>;
}

/** Starts the OpenTelemetry SDK for this process, set by the standard `OTEL_*`. */
export function startExporter(serviceName: string): Exporter {
  const sdk = new NodeSDK({ serviceName, logRecordProcessors: [], idGenerator: IDS });
  sdk.start();
  return sdk;
}
