import { SPAN } from '../../../shared/base/telemetry.ts';

/** A span as Jaeger gives it back. */
export interface FoundSpan {
  operationName: string;
}

/** The API of a running Jaeger. */
export interface Jaeger {
  readonly url: string;
  /** All spans of a trace; none when it is not known. */
  trace(traceId: string): Promise<FoundSpan[]>;
  /** The newest traces that hold an operation. */
  search(service: string, operation: string, limit: number): Promise<FoundSpan[][]>;
  services(): Promise<string[]>;
}

interface Traces {
  data: { spans: FoundSpan[] }[] | null;
}

/** Binds the API at a url. Every method rejects when it cannot be reached. */
export function jaegerAt(url: string): Jaeger {
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${url}/api/${path}`)).json()) as T;
  return {
    url,
    async trace(traceId) {
      const { data } = await ask<Traces>(`traces/${traceId}`);
      return (data ?? []).flatMap(({ spans }) => spans);
    },
    async search(service, operation, limit) {
      const search = new URLSearchParams({ service, operation, limit: String(limit), lookback: '1h' });
      const { data } = await ask<Traces>(`traces?${search}`);
      return (data ?? []).map(({ spans }) => spans);
    },
    async services() {
      const { data } = await ask<{ data: string[] | null }>('services');
      return data ?? [];
    },
  };
}

/** The names of the spans of a trace. Pure. */
export function namesIn(spans: readonly FoundSpan[]): Set<string> {
  return new Set(spans.map(({ operationName }) => operationName));
}

/** Whether the message of a trace is being answered, and a tool was called for it. Pure. */
export function isRunning(spans: readonly FoundSpan[]): boolean {
  const names = namesIn(spans);
  return (
    names.has(SPAN.started) && !names.has(SPAN.settle) && [...names].some((name) => name.startsWith(`${SPAN.tool} `))
  );
}
