import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Meters } from './meters.ts';

/** Begins to keep metrics for Prometheus, with the names that a collector would give them. Returns what writes them as its text. */
export function createScraper(meters: Meters, scope: string): () => Promise<string> {
  // It is asked through the gateway's own port.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  meters.attach(new MeterProvider({ readers: [reader] }).getMeter(scope), 'units in names');
  return async () => serializer.serialize((await reader.collect()).resourceMetrics);
}
