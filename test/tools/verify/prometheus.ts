/** A series of a range: its labels, and values by time in ms. */
export interface Series {
  labels: Readonly<Record<string, string>>;
  points: readonly (readonly [atMs: number, value: number])[];
}

/** What Prometheus made of an expression. */
export type Answer = { ok: true; series: readonly Series[] } | { ok: false; problem: string };

/** A rule as Prometheus holds it. */
export interface Rule {
  name: string;
  health: string;
}

/** A time, and how finely it is looked at. */
export interface Span {
  fromMs: number;
  toMs: number;
  stepS: number;
}

/** The API of a running Prometheus. */
export interface Prometheus {
  readonly url: string;
  range(query: string, span: Span): Promise<Answer>;
  rules(): Promise<Rule[]>;
  /** The names of the alerts that fire now. */
  firing(): Promise<string[]>;
  /** The trace ids of the exemplars behind an expression. */
  exemplars(query: string, span: Span): Promise<string[]>;
}

interface Matrix {
  metric: Record<string, string>;
  values: [number, string][];
}
interface Envelope<T> {
  status: string;
  error?: string;
  data: T;
}

/** Binds the API at a url. Every method rejects when it cannot be reached. */
export function prometheusAt(url: string): Prometheus {
  const ask = async <T>(path: string, params: Record<string, string | number> = {}): Promise<Envelope<T>> => {
    const search = new URLSearchParams(Object.entries(params).map(([key, value]) => [key, String(value)]));
    const response = await fetch(`${url}/api/v1/${path}?${search}`);
    return (await response.json()) as Envelope<T>;
  };
  return {
    url,
    async range(query, span) {
      const answer = await ask<{ result: Matrix[] }>('query_range', { query, ...times(span), step: span.stepS });
      if (answer.status !== 'success') return { ok: false, problem: answer.error ?? answer.status };
      return { ok: true, series: answer.data.result.map(seriesOf) };
    },
    async rules() {
      const { data } = await ask<{ groups: { rules: Rule[] }[] }>('rules');
      return data.groups.flatMap(({ rules }) => rules);
    },
    async firing() {
      const { data } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts');
      return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    },
    async exemplars(query, span) {
      const { data } = await ask<{ exemplars: { labels: Record<string, string> }[] }[]>('query_exemplars', {
        query,
        ...times(span),
      });
      return data.flatMap(({ exemplars }) => exemplars.flatMap(({ labels }) => labels.trace_id ?? []));
    },
  };
}

function times({ fromMs, toMs }: Span): { start: number; end: number } {
  return { start: fromMs / 1_000, end: toMs / 1_000 };
}

/** What is no number was no answer: a share of nothing. */
function seriesOf({ metric, values }: Matrix): Series {
  const points = values.map(([at, value]) => [at * 1_000, Number(value)] as const);
  return { labels: metric, points: points.filter(([, value]) => Number.isFinite(value)) };
}
