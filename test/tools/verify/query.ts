import { filledIn, type Panel, type Target } from './board.ts';
import type { Prometheus, Span } from './prometheus.ts';

/** What became of an expression; `EMPTY` and `ERROR` are findings. */
export type Verdict = 'data' | 'rightly empty' | 'EMPTY' | 'ERROR';

/** One expression that was asked. */
export interface Asked {
  expr: string;
  verdict: Verdict;
  /** What is wrong. */
  why?: string;
}

/** A panel with all that its expressions gave. */
export interface AskedPanel {
  panel: Panel;
  asked: readonly Asked[];
}

/** What the played day does not have, so that an expression about it rightly shows nothing. */
const NOT_IN_THE_DAY = [
  // The day is polled.
  'spillway_webhook_refused_total',
  // Each request satisfies the rules of the API.
  'spillway_request_invalid_total',
];

/** Asks every expression of every panel, one after another. */
export async function askPanels(panels: readonly Panel[], prometheus: Prometheus, span: Span): Promise<AskedPanel[]> {
  const all: AskedPanel[] = [];
  for (const panel of panels) {
    const asked: Asked[] = [];
    for (const target of panel.targets) asked.push(await ask(target, prometheus, span));
    all.push({ panel, asked });
  }
  return all;
}

async function ask({ expr }: Pick<Target, 'expr'>, prometheus: Prometheus, span: Span): Promise<Asked> {
  const answer = await prometheus.range(filledIn(expr, span), span);
  if (!answer.ok) return { expr, verdict: 'ERROR', why: answer.problem };
  if (answer.series.some(({ points }) => points.length > 0)) return { expr, verdict: 'data' };
  const isAbsent = NOT_IN_THE_DAY.some((metric) => expr.includes(metric));
  return { expr, verdict: isAbsent ? 'rightly empty' : 'EMPTY' };
}
