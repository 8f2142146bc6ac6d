import type { ExportedSpan } from '../../stand-in/otlp.ts';

const NOTED = [
  'spillway.recovery.stage',
  'spillway.verdict',
  'spillway.overflow.observed_tokens',
  'spillway.overflow.limit_tokens',
  'success',
  'summary_length',
  'spillway.session.entries',
  'error.type',
  'spillway.outcome',
];

/** A trace as lines of text: each span under its parent, with its offset, its duration and its telling attributes. */
export function traceTree(spans: readonly ExportedSpan[]): string[] {
  const ids = new Set(spans.map((span) => span.spanId));
  const begin = Math.min(...spans.map((span) => span.startMs));
  const sorted = spans.toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
  const under = (parent: string | undefined) =>
    sorted.filter((span) => (parent === undefined ? !ids.has(span.parentSpanId ?? '') : span.parentSpanId === parent));
  const lines: string[] = [];
  const write = (span: ExportedSpan, indent: string, isLast: boolean) => {
    const offset = `+${(span.startMs - begin).toFixed(0)}`.padStart(7);
    const took = `${(span.endMs - span.startMs).toFixed(1)} ms`.padStart(10);
    lines.push(`${offset} ${took}  ${indent}${isLast ? '└ ' : '├ '}${span.name}${notes(span)}`);
    const children = under(span.spanId);
    for (const [index, child] of children.entries()) {
      write(child, `${indent}${isLast ? '  ' : '│ '}`, index === children.length - 1);
    }
  };
  const roots = under(undefined);
  for (const [index, root] of roots.entries()) write(root, '', index === roots.length - 1);
  return lines;
}

function notes(span: ExportedSpan): string {
  const noted = NOTED.filter((key) => span.attributes[key] !== undefined).map(
    (key) => `${key.replace(/^spillway\.(?:recovery\.|overflow\.|session\.)?/, '')}=${String(span.attributes[key])}`,
  );
  return noted.length === 0 ? '' : `  (${noted.join(', ')})`;
}
