import { type Band, legendHtml, plotOf } from './plot.ts';
import type { Span } from './prometheus.ts';
import type { AskedPanel } from './query.ts';

/** The panels that tell most of a day. */
const SHOWN = [
  'Outcomes by kind',
  'Ages',
  'Lanes and jobs',
  'Calls by result',
  'Recovery actions by result',
  'Message latency',
] as const;

const CELL = { width: 420, height: 200, head: 20 };
const COLUMNS = 2;
const LEGEND_COLUMNS = 3;
const LEGEND_LINE = 10;

const STYLE =
  'text{font:9px sans-serif;fill:#555}.title{font:bold 11px sans-serif;fill:#222}.axis line{stroke:#ddd}.even rect{fill:#f1f4f7}.odd rect{fill:#e3e9ef}';

/** Some panels over the day as one small picture. Pure. */
export function pictureOf(panels: readonly AskedPanel[], span: Span, bands: readonly Band[]): string {
  const shown = SHOWN.flatMap((title) => panels.find(({ panel }) => panel.title === title) ?? []);
  const rows = Math.ceil(shown.length / COLUMNS);
  const size = `0 0 ${CELL.width * COLUMNS} ${CELL.height * rows}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${size}">`,
    '<title>Six panels over the played day; the numbers below are the hours</title>',
    `<style>${STYLE}</style>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...shown.map((each, index) => cellOf(each, index, span, bands)),
    '</svg>',
    '',
  ].join('\n');
}

function cellOf(each: AskedPanel, index: number, span: Span, bands: readonly Band[]): string {
  const [x, y] = [(index % COLUMNS) * CELL.width, Math.floor(index / COLUMNS) * CELL.height];
  const plot = plotOf(each, span, bands).replace('<svg ', `<svg y="${CELL.head}" width="${CELL.width}" height="150" `);
  return `<g transform="translate(${x} ${y})"><text class="title" x="8" y="14">${each.panel.title}</text>${plot}${legendOf(each)}</g>`;
}

/** The page's legend, drawn. */
function legendOf(each: AskedPanel): string {
  const names = [...legendHtml(each).matchAll(/background:(#\w+)"><\/i>([^<]*)/g)].slice(0, 6);
  return names
    .map(([, colour = '', name = ''], index) => {
      const x = 52 + (index % LEGEND_COLUMNS) * 122;
      const y = CELL.head + 158 + Math.floor(index / LEGEND_COLUMNS) * LEGEND_LINE;
      return `<rect x="${x}" y="${y - 6}" width="6" height="6" fill="${colour}"/><text x="${x + 9}" y="${y}">${name.slice(0, 22)}</text>`;
    })
    .join('');
}
