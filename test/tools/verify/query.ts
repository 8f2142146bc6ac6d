import { filledIn, type Panel, type Target } from './board.ts';
import type { Prometheus, Series, Span } from './prometheus.ts';

/** What became of an expression: `rightly empty` is said with a reason, `EMPTY` is a finding. */
export type Verdict = 'data' | 'rightly empty' | 'EMPTY' | 'ERROR';

/** One expression that was asked, with what it gave. */
export interface Asked {
  expr: string;
  verdict: Verdict;
  series: readonly Series[];
  /** Why it is empty, or what is wrong. */
  why?: string;
}

/** A panel with all that its expressions gave. */
export interface AskedPanel {
  panel: Panel;
  asked: readonly Asked[];
}

/** What the played day does not have, so that an expression about it rightly shows nothing. */
const NOT_IN_THE_DAY: readonly { metric: string; why: string }[] = [
  { metric: 'spillway_webhook_refused_total', why: 'the day is polled; there is no webhook' },
  { metric: 'spillway_request_invalid_total', why: 'each request satisfied the rules of the API' },
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

/** Asks one expression. */
export async function ask({ expr }: Pick<Target, 'expr'>, prometheus: Prometheus, span: Span): Promise<Asked> {
  const answer = await prometheus.range(filledIn(expr, span), span);
  if (!answer.ok) return { expr, verdict: 'ERROR', series: [], why: answer.problem };
  const series = answer.series.filter(({ points }) => points.length > 0);
  if (series.length > 0) return { expr, verdict: 'data', series };
  const absent = NOT_IN_THE_DAY.find(({ metric }) => expr.includes(metric));
  if (absent === undefined) return { expr, verdict: 'EMPTY', series };
  return { expr, verdict: 'rightly empty', series, why: absent.why };
}
