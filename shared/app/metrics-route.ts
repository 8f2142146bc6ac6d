import cluster from 'node:cluster';
import type { Telemetry } from '../base/telemetry.ts';
import type { Route } from './health.ts';
import { exchangeMetrics } from './metrics-exchange.ts';

/** `GET /metrics`: the metrics as Prometheus' text; of all processes where several share the port. */
export function metricsRoute({ scrape }: Pick<Telemetry, 'scrape'>): Route {
  const shown = cluster.isWorker ? exchangeMetrics(scrape) : scrape;
  return {
    path: '/metrics',
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      try {
        const text = await shown();
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
      } catch {
        response.writeHead(500).end();
      }
    },
  };
}
