import { legendOf } from './board.ts';
import type { Span } from './prometheus.ts';
import type { AskedPanel } from './query.ts';

/** A part of the day that is shaded behind every plot. */
export interface Band {
  number: number;
  name: string;
  fromMs: number;
  toMs: number;
}

interface Line {
  name: string;
  points: readonly (readonly [number, number])[];
}

const SIZE = { width: 420, height: 150, left: 52, right: 8, top: 8, bottom: 18 };
const COLOURS = ['#2a78b5', '#d9731a', '#3a9148', '#b8403f', '#7d5fb0', '#8a6a4f', '#c65fa5', '#6c757d'];
const LINES_MAX = 12;
const DECIMALS = 1;
const STEPS = [1, 2, 3, 4, 5, 6, 8, 10];

/** The lines of a panel over the day as an SVG, with the hours shaded. Pure. */
export function plotOf({ panel, asked }: AskedPanel, span: Span, bands: readonly Band[]): string {
  const lines = linesOf(asked).slice(0, LINES_MAX);
  const top = ceilingOf(lines);
  const x = (atMs: number): string => xOf(atMs, span).toFixed(DECIMALS);
  const y = (value: number): string => yOf(value, top).toFixed(DECIMALS);
  const drawn = lines.flatMap(({ points }, index) =>
    piecesOf(points, span).map((piece) => {
      const at = piece.map(([atMs, value]) => `${x(atMs)},${y(value)}`).join(' ');
      return `<polyline fill="none" stroke="${colour(index)}" stroke-width="1.4" stroke-linecap="round" points="${at}"/>`;
    }),
  );
  return [
    `<svg viewBox="0 0 ${SIZE.width} ${SIZE.height}" role="img" aria-label="${escaped(panel.title)}">`,
    ...bands.map((band) => bandOf(band, span)),
    ...axisOf(top, panel.unit),
    ...drawn,
    '</svg>',
  ].join('\n');
}

/** The names of a panel's lines with their colours, as HTML. Pure. */
export function legendHtml({ asked }: AskedPanel): string {
  const lines = linesOf(asked);
  const names = lines.slice(0, LINES_MAX).map(({ name }, index) => {
    return `<span><i style="background:${colour(index)}"></i>${escaped(name || 'value')}</span>`;
  });
  return [...names, ...(lines.length > LINES_MAX ? [`<span>and ${lines.length - LINES_MAX} more</span>`] : [])].join(
    '\n',
  );
}

/** A number of a panel in its unit. Pure. */
export function inUnit(value: number, unit: string): string {
  if (unit === 'percentunit') return `${(value * 100).toFixed(0)} %`;
  if (unit === 'currencyUSD') return `$${value.toFixed(2)}`;
  if (unit === 'bytes') return `${(value / 1_048_576).toFixed(0)} MB`;
  if (unit === 'ms') return value >= 1_000 ? `${(value / 1_000).toFixed(1)} s` : `${value.toFixed(0)} ms`;
  if (unit === 's') return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(2);
}

/** Text that HTML does not take for markup. Pure. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function linesOf(asked: AskedPanel['asked']): Line[] {
  return asked.flatMap(({ series, legend }) =>
    series.map(({ labels, points }) => ({ name: legendOf(legend, labels), points })),
  );
}

const colour = (index: number): string => COLOURS[index % COLOURS.length] ?? '#000';

/** A line is not drawn through a time in which there was none. */
function piecesOf(points: Line['points'], { stepS }: Span): Line['points'][] {
  const pieces: (readonly [number, number])[][] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    if (point[0] - lastMs > stepS * 1_500) pieces.push([]);
    pieces.at(-1)?.push(point);
    lastMs = point[0];
  }
  // A piece of one point would not be seen.
  return pieces.map((piece) => (piece.length === 1 && piece[0] ? [piece[0], piece[0]] : piece));
}

function ceilingOf(lines: readonly Line[]): number {
  return roundCeiling(
    lines.reduce((all, { points }) => points.reduce((max, [, value]) => Math.max(max, value), all), 0),
  );
}

/** The next number that a person would write at an axis. */
function roundCeiling(most: number): number {
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (STEPS.find((step) => step * power >= most) ?? 10);
}

function xOf(atMs: number, { fromMs, toMs }: Span): number {
  return SIZE.left + ((atMs - fromMs) / (toMs - fromMs)) * (SIZE.width - SIZE.left - SIZE.right);
}

function yOf(value: number, top: number): number {
  return SIZE.height - SIZE.bottom - (Math.max(0, value) / top) * (SIZE.height - SIZE.top - SIZE.bottom);
}

function bandOf({ number, name, fromMs, toMs }: Band, span: Span): string {
  const [from, to] = [xOf(fromMs, span), xOf(toMs, span)];
  const shade = number % 2 === 0 ? 'even' : 'odd';
  const middle = ((from + to) / 2).toFixed(DECIMALS);
  return `<g class="band ${shade}"><title>${number}. ${escaped(name)}</title><rect x="${from.toFixed(DECIMALS)}" y="${SIZE.top}" width="${(to - from).toFixed(DECIMALS)}" height="${SIZE.height - SIZE.top - SIZE.bottom}"/><text x="${middle}" y="${SIZE.height - 6}" text-anchor="middle">${to - from > 7 ? number : ''}</text></g>`;
}

function axisOf(top: number, unit: string): string[] {
  return [0, 0.5, 1].map((share) => {
    const y = yOf(top * share, top);
    return `<g class="axis"><line x1="${SIZE.left}" x2="${SIZE.width - SIZE.right}" y1="${y}" y2="${y}"/><text x="${SIZE.left - 4}" y="${y + 3}" text-anchor="end">${inUnit(top * share, unit)}</text></g>`;
  });
}
