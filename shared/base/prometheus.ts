import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Meters } from './meters.ts';

/** Collects metrics from now on. Returns a function that writes them as Prometheus text, under a collector's names for them. */
export function createScraper(meters: Meters, scope: string): () => Promise<string> {
  // It needs no server, because the gateway's own port serves the text.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  meters.attach(new MeterProvider({ readers: [reader] }).getMeter(scope), 'units in names');
  return async () => serializer.serialize((await reader.collect()).resourceMetrics);
}
