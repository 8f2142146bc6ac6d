import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Meters } from './meters.ts';

/** Starts to collect metrics. Returns a function that writes them as Prometheus text, with the names that a collector uses. */
export function createScraper(meters: Meters, scope: string): () => Promise<string> {
  // The exporter needs no server of its own, because the gateway's port serves the text.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  meters.attach(new MeterProvider({ readers: [reader] }).getMeter(scope), 'units in names');
  return async () => serializer.serialize((await reader.collect()).resourceMetrics);
}
