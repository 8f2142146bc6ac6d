import type { Telemetry } from '../base/telemetry.ts';
import type { Route } from './health.ts';

const SHARED_PORT =
  'WORKERS is more than 1: several processes share this port, and each scrape would reach another one. Export with OTEL_EXPORTER_OTLP_ENDPOINT.\n';

/** `GET /metrics`: the metrics of this process as Prometheus' text; refused where several processes share the port. */
export function metricsRoute({ scrape }: Pick<Telemetry, 'scrape'>, isPortShared: boolean): Route {
  return {
    path: '/metrics',
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      if (isPortShared) return void response.writeHead(501, { 'content-type': 'text/plain' }).end(SHARED_PORT);
      try {
        const text = await scrape();
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
      } catch {
        response.writeHead(500).end();
      }
    },
  };
}
