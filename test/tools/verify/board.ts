import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Span } from './prometheus.ts';
import { shorterDuration } from './shorter.ts';

/** One expression of a panel. */
export interface Target {
  expr: string;
  /** Whether it leads to traces by dots on its lines. */
  hasExemplars: boolean;
}

/** One panel of a dashboard. Those that search for traces have no expressions. */
export interface Panel {
  title: string;
  targets: readonly Target[];
  /** What it searches for in Jaeger. */
  searches: readonly { service: string; operation: string }[];
}

interface RawTarget {
  expr?: string;
  exemplar?: boolean;
  service?: string;
  operation?: string;
}
interface RawPanel {
  title: string;
  targets?: RawTarget[];
}

/** Every panel of every dashboard in a folder, as Grafana would load it. */
export function readPanels(folder: string): Panel[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => panelsOf(readFileSync(join(folder, file), 'utf8')));
}

/** The panels of one dashboard. Pure. */
export function panelsOf(json: string): Panel[] {
  const { panels } = JSON.parse(json) as { panels: RawPanel[] };
  return panels.map((panel) => ({
    title: panel.title,
    targets: (panel.targets ?? []).flatMap(({ expr, exemplar = false }) =>
      expr === undefined ? [] : [{ expr, hasExemplars: exemplar }],
    ),
    searches: (panel.targets ?? []).flatMap(({ service, operation }) =>
      service === undefined || operation === undefined ? [] : [{ service, operation }],
    ),
  }));
}

/** The interval at which Prometheus scrapes, as the data source of the dashboards states it. */
const SCRAPE_INTERVAL = '15s';
/** Grafana makes a rate's window this many scrapes wide. */
const SCRAPES = 4;

/** An expression with Grafana's variables filled in, for a look at that time. Pure. */
export function filledIn(expr: string, { fromMs, toMs, stepS }: Span): string {
  const scrapeS = Number.parseInt(shorterDuration(SCRAPE_INTERVAL), 10);
  const rateS = Math.max(SCRAPES * scrapeS, stepS + scrapeS);
  return expr
    .replaceAll('$__rate_interval', `${rateS}s`)
    .replaceAll('$__range', `${Math.ceil((toMs - fromMs) / 1_000)}s`);
}
