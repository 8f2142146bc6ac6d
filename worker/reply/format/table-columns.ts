import { type Align, type Cell, lettersOf, type Table } from '../../../shared/flow/reply.ts';
import { widthOf, wrapLines } from './width.ts';

/** About how many monospaced characters fit on a line of a phone. Apps wrap a longer line, which breaks the columns. */
export const GRID_COLUMNS = 40;
const COLUMN_MIN = 8;
const BORDER = ' | ';

/** The widths that the cells of each column need. Narrows the widest columns until the table fits, or to `COLUMN_MIN`. */
export function columnWidths({ header, rows }: Table): number[] {
  const linesIn = (column: number) => [header, ...rows].flatMap((row) => lettersOf(row[column] ?? []).split('\n'));
  const needed = header.map((_, column) => linesIn(column).reduce((most, line) => Math.max(most, widthOf(line)), 1));
  const room = GRID_COLUMNS - BORDER.length * (needed.length - 1);
  const narrow = (most: number) => needed.map((width) => Math.min(width, most));
  let most = Math.max(room, COLUMN_MIN);
  while (most > COLUMN_MIN && narrow(most).reduce((sum, width) => sum + width, 0) > room) most -= 1;
  return narrow(most);
}

/** A table as lines of monospaced text. */
export function gridOf(table: Table): string {
  const widths = table.widths ?? columnWidths(table);
  const line = widths.map((width) => '-'.repeat(width)).join('-+-');
  return [rowOf(table.header, widths, table.align), line, ...table.rows.map((row) => rowOf(row, widths, table.align))]
    .filter((each) => each !== '')
    .join('\n');
}

function rowOf(cells: readonly Cell[], widths: readonly number[], align: readonly Align[]): string {
  const columns = widths.map((width, column) => wrapLines(lettersOf(cells[column] ?? []), width));
  const height = Math.max(0, ...columns.map((lines) => lines.length));
  const lines = Array.from({ length: height }, (_, at) =>
    columns
      .map((column, index) => padCell(column[at] ?? '', widths[index] ?? 0, align[index]))
      .join(BORDER)
      .trimEnd(),
  );
  return lines.join('\n');
}

function padCell(text: string, width: number, align: Align | undefined): string {
  const room = Math.max(0, width - widthOf(text));
  if (align === 'right') return ' '.repeat(room) + text;
  const before = align === 'center' ? Math.floor(room / 2) : 0;
  return ' '.repeat(before) + text + ' '.repeat(room - before);
}
