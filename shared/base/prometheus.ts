import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Meters } from './meters.ts';

/** Shows metrics to Prometheus. */
export interface Scraper {
  /** Every metric now, as Prometheus' text. */
  scrape(): Promise<string>;
}

/** Begins to keep metrics for Prometheus, with the names that a collector would give them. */
export function createScraper(meters: Meters, scope: string): Scraper {
  // It is asked through the gateway's own port.
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  meters.attach(new MeterProvider({ readers: [reader] }).getMeter(scope), 'units in names');
  return {
    async scrape() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(resourceMetrics);
    },
  };
}
