import { legendOf } from './board.ts';
import { type Band, escaped, inUnit, legendHtml, plotOf } from './plot.ts';
import type { Span } from './prometheus.ts';
import type { AskedPanel } from './query.ts';

/** What a page shows. */
export interface PageContent {
  title: string;
  /** Where the numbers come from, in a sentence. */
  note: string;
  panels: readonly AskedPanel[];
  bands: readonly Band[];
  span: Span;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2126; --soft: #68727d; --line: #dfe3e8; --even: #f1f4f7; --odd: #e5eaf0; --paper: #fff; --card: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #98a3ae; --line: #363d45; --even: #1f252b; --odd: #272e36; --paper: #14181c; --card: #1a1f24 } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; padding: 20px; max-width: 1400px }
h1 { font-size: 20px; margin: 0 } h2 { font-size: 16px; margin: 28px 0 10px } p, ol { color: var(--soft) } ol { columns: 2 340px; padding-left: 22px }
.board { display: grid; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); gap: 12px }
.panel { border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; background: var(--card); min-width: 0 }
.panel h3 { font-size: 13px; margin: 0 0 4px } .panel svg { width: 100%; height: auto; display: block }
.number { font-size: 26px; font-variant-numeric: tabular-nums } .empty { color: var(--soft); font-style: italic }
.legend { font-size: 11px; color: var(--soft); display: flex; flex-wrap: wrap; gap: 2px 10px } .legend i { display: inline-block; width: 9px; height: 9px; margin-right: 4px; border-radius: 2px }
svg text { font: 9px system-ui, sans-serif; fill: var(--soft) } .axis line { stroke: var(--line) } .even rect { fill: var(--even) } .odd rect { fill: var(--odd) }
`;

/** All panels as one page that needs nothing else. Pure. */
export function pageOf(content: PageContent): string {
  const { title, note, panels, bands } = content;
  const boards = [...new Set(panels.map(({ panel }) => panel.board))];
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(title)}</h1><p>${escaped(note)}</p>`,
    `<ol>${bands.map(({ name }) => `<li>${escaped(name)}</li>`).join('\n')}</ol>`,
    ...boards.map((board) => {
      const shown = panels.filter(({ panel }) => panel.board === board).map((each) => panelHtml(each, content));
      return `<h2>${escaped(board)}</h2><div class="board">${shown.join('\n')}</div>`;
    }),
    '</body></html>',
    '',
  ].join('\n');
}

function panelHtml(each: AskedPanel, { span, bands }: PageContent): string {
  return `<section class="panel"><h3>${escaped(each.panel.title)}</h3>${bodyOf(each, span, bands)}</section>`;
}

function bodyOf(each: AskedPanel, span: Span, bands: readonly Band[]): string {
  const { panel, asked } = each;
  if (panel.targets.length === 0) return '<p class="empty">a search in Jaeger: see the report</p>';
  const [empty] = asked.filter(({ verdict }) => verdict !== 'data');
  if (asked.every(({ verdict }) => verdict !== 'data'))
    return `<p class="empty">${escaped(empty?.why ?? 'no data')}</p>`;
  if (panel.kind === 'stat') return `<div class="number">${numberOf(each)}</div>`;
  if (panel.kind === 'table') return `<div class="legend">${namesOf(each)}</div>`;
  return `${plotOf(each, span, bands)}<div class="legend">${legendHtml(each)}</div>`;
}

/** A stat shows its newest value. */
function numberOf({ panel, asked }: AskedPanel): string {
  const value = asked[0]?.series[0]?.points.at(-1)?.[1];
  return value === undefined ? 'no data' : inUnit(value, panel.unit);
}

function namesOf({ asked }: AskedPanel): string {
  const names = asked.flatMap(({ series }) => series.map(({ labels }) => legendOf('', labels)));
  return [...new Set(names)].map((name) => `<span>${escaped(name)}</span>`).join('\n');
}
