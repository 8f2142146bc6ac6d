/**
 * An OTLP/HTTP receiver that understands JSON only: it keeps what an exporter sent as plain objects, so that a test
 * can hold a trace against what really happened.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { closeServer, header, listen, readBody, sendJson } from './loopback.ts';
import { listed, News } from './news.ts';
import { pointKey, pointsOf, spansOf } from './otlp-json.ts';

/** A span as it was exported. */
export interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  status: { code: 'unset' | 'ok' | 'error'; message?: string };
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[];
  events: { name: string; atMs: number; attributes: Record<string, unknown> }[];
  /** The name of the instrumentation scope. */
  scope: string;
  /** The resource's `service.name`. */
  service: string;
}

/** A metric's data point. A histogram's value is its sum, and `count` says of how many measurements. */
export interface ExportedPoint {
  name: string;
  unit: string;
  attributes: Record<string, unknown>;
  value: number;
  count?: number;
  service: string;
}

/** A running OTLP receiver. */
export type OtlpStandIn = Pick<OtlpServer, keyof OtlpServer>;

/** A wait ends with what it waited for; this is for one that never comes, on a machine that does much else. */
const WAIT_MS = 30_000;
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const PATHS = ['/v1/traces', '/v1/metrics'];
const ONLY_JSON = 'only application/json is understood here: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json';

class OtlpServer {
  /** What `OTEL_EXPORTER_OTLP_ENDPOINT` takes. */
  url = '';
  /** Every span, in the order of its export. */
  readonly spans: ExportedSpan[] = [];
  /** Requests that were refused, with the reason. */
  readonly refusals: string[] = [];
  readonly #points = new Map<string, ExportedPoint>();
  readonly #news = new News();
  readonly #server = createServer((request, response) => {
    this.#receive(request, response).catch((error) => response.destroy(error));
  });

  async start(): Promise<this> {
    this.url = await listen(this.#server);
    return this;
  }

  /** One point for each instrument and set of attributes: the latest. */
  get metrics(): ExportedPoint[] {
    return [...this.#points.values()];
  }

  /** The first span that matches, already exported or not yet. Rejects with the names seen. */
  waitForSpan(match: (span: ExportedSpan) => boolean, timeoutMs = WAIT_MS): Promise<ExportedSpan> {
    const seen = (): string => listed([...this.spans.map(({ name }) => name), ...this.refusals]);
    return this.#news.until(() => this.spans.find(match), timeoutMs, 'matching span', seen);
  }

  /** All spans of a trace by their start. */
  trace(traceId: string): ExportedSpan[] {
    // Of two that start in the same instant the longer one comes first: it holds the other.
    return this.spans
      .filter((span) => span.traceId === traceId)
      .sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  }

  /** Cuts every open connection and stops. */
  async close(): Promise<void> {
    await closeServer(this.#server);
    this.#news.end();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.url).pathname;
    const bytes = await readBody(request, BODY_BYTES_MAX);
    const type = header(request, 'content-type') ?? 'no content type';
    if (request.method !== 'POST' || !PATHS.includes(path)) return this.#refuse(response, 404, `no such path: ${path}`);
    if (bytes === undefined) return this.#refuse(response, 413, 'the body is too large');
    if (!type.startsWith('application/json')) return this.#refuse(response, 415, `${type} on ${path}: ${ONLY_JSON}`);
    const body = parse(header(request, 'content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes);
    if (body === undefined) return this.#refuse(response, 400, `the body on ${path} is no JSON object`);
    this.#keep(path, body);
    sendJson(response, 200, { partialSuccess: {} });
    this.#news.tell();
  }

  #keep(path: string, body: Record<string, unknown>): void {
    if (path === '/v1/traces') this.spans.push(...spansOf(body));
    if (path === '/v1/metrics') for (const point of pointsOf(body)) this.#points.set(pointKey(point), point);
  }

  #refuse(response: ServerResponse, status: number, message: string): void {
    this.refusals.push(`${status} ${message}`);
    // The status message of an OTLP error is a google.rpc.Status, which exporters print as it is.
    sendJson(response, status, { code: 3, message });
    this.#news.tell();
  }
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Starts an OTLP receiver on loopback. Every test closes its own. */
export function startOtlp(): Promise<OtlpStandIn> {
  return new OtlpServer().start();
}
