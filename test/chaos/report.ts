/** Says in words what came of a run. */
import type { Violation } from './judge.ts';
import type { Result } from './scenario.ts';

const COLUMNS = [
  ['scenario', 26],
  ['messages', 9],
  ['faults', 7],
  ['seconds', 8],
  ['drained', 8],
  ['lost', 5],
  ['order', 6],
  ['invalid', 7],
  ['extra', 6],
  ['again', 6],
  ['notified', 9],
  ['cut', 4],
  ['verdict', 8],
] as const;
const SHOWN_MAX = 6;

/** The names of the columns. */
export const COLUMN_NAMES: readonly string[] = COLUMNS.map(([name]) => name);

/** The head of the table. */
export function headLine(): string {
  return COLUMNS.map(([name, width]) => name.padEnd(width)).join(' ');
}

/** A result as a line of the table. */
export function resultLine(result: Result): string {
  const cells = cellsOf(result);
  return COLUMNS.map(([, width], index) => String(cells[index]).padEnd(width)).join(' ');
}

/** A result as the cells of the table. */
export function cellsOf(result: Result): readonly (string | number)[] {
  return [
    result.name,
    result.messages,
    result.faults,
    (result.durationMs / 1_000).toFixed(1),
    result.drainMs === undefined ? '-' : (result.drainMs / 1_000).toFixed(1),
    result.lost,
    result.outOfOrder,
    result.contractViolations,
    result.extra,
    result.again,
    result.unanswered,
    result.cut,
    result.violations.length === 0 ? 'holds' : 'VIOLATED',
  ];
}

/** The violations of a result, the first few in full, and how to repeat it. */
export function violationLines({ violations, name, seed }: Result): string[] {
  if (violations.length === 0) return [];
  const shown = varied(violations).slice(0, SHOWN_MAX);
  const left = violations.length - shown.length;
  return [
    ...shown.map((each) => `  ${violationLine(each)}`),
    ...(left > 0 ? [`  and ${left} more`] : []),
    `  repeat: npm run chaos -- --only ${name} --seed ${seed}`,
  ];
}

/** One of each invariant first: many of one kind must not hide the others. */
function varied(violations: readonly Violation[]): Violation[] {
  const firsts = [...Map.groupBy(violations, ({ invariant }) => invariant).values()].flatMap((group) =>
    group.slice(0, 1),
  );
  return [...firsts, ...violations.filter((each) => !firsts.includes(each))];
}

/** One violation with its evidence. */
export function violationLine({ invariant, chatId, message, seen }: Violation): string {
  const where = [chatId === undefined ? [] : [`chat ${chatId}`], message === undefined ? [] : [`message ${message}`]];
  return [invariant, ...where.flat(), seen].join(', ');
}
