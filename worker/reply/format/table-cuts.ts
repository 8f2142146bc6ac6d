import { type Block, type Cell, lettersOf, paragraph, plain, type Table } from '../../../shared/flow/reply.ts';
import type { Cut, Room } from './cut.ts';
import { minus, type Size } from './ruler.ts';

/** Cuts a table between rows; the rest has the same header and widths. Rows that fit into no message become paragraphs. */
export function cutTable(original: Table, { ruler, space, place, isEmpty }: Room): Cut {
  const table = ruler.fixWidths(original);
  const bare = ruler.sizeOf([{ ...table, rows: [] }], place);
  let room = minus(space, bare);
  let count = 0;
  for (const row of table.rows) {
    const size = minus(ruler.sizeOf([{ ...table, rows: [row] }], place), bare);
    if (!isWithin(size, room)) break;
    room = minus(room, size);
    count += 1;
  }
  const rest = table.rows.slice(count);
  if (count > 0) return { head: [{ ...table, rows: table.rows.slice(0, count) }], rest: withRows(table, rest) };
  if (!isEmpty) return { head: [], rest: [original] };
  // Either the first row fits into no message, or the header leaves no room for rows.
  const isHeaderLong = !isWithin(
    bare,
    ruler.limit.map((limit) => limit / 2),
  );
  const [first = [], ...others] = table.rows;
  if (!isHeaderLong) return { head: [], rest: [...rowInWords(table.header, first), ...withRows(table, others)] };
  return { head: [], rest: [...rowInWords([], table.header), ...table.rows.flatMap((row) => rowInWords([], row))] };
}

function withRows(table: Table, rows: Table['rows']): Block[] {
  return rows.length === 0 ? [] : [{ ...table, rows }];
}

/** The cells of a row as paragraphs, each after the name of its column, if it has one. Omits empty cells. */
function rowInWords(header: readonly Cell[], row: readonly Cell[]): Block[] {
  return row.flatMap((cell, column) => {
    if (lettersOf(cell) === '') return [];
    const name = header[column] ?? [];
    return [
      paragraph(...(lettersOf(name) === '' ? cell : [{ type: 'bold' as const, inlines: name }, plain(': '), ...cell])),
    ];
  });
}

function isWithin(size: Size, room: Size): boolean {
  return size.every((each, index) => each <= (room[index] ?? 0));
}
