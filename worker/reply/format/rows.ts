import type { Tokens } from 'marked';
import { type Align, type Cell, type Table, trimmed } from '../../../shared/flow/reply.ts';
import { tokensOf } from './grammar.ts';
import { inlinesOf } from './inline.ts';

const BORDER = /(?<!\\)\|/;

/** The table of a token. The lexer drops cells beyond the header's last; here the table gets wider instead. */
export function tableOf(token: Tokens.Table): Table {
  const lines = token.raw.split('\n').slice(2);
  const rows = token.rows.map((cells, index) => [
    ...cells.map(cellOf),
    ...extraCells(lines[index] ?? '', token.header.length),
  ]);
  const columns = Math.max(token.header.length, ...rows.map((row) => row.length));
  return {
    type: 'table',
    header: padded(token.header.map(cellOf), columns),
    align: Array.from({ length: columns }, (_, column): Align => token.align[column] ?? 'left'),
    rows: rows.map((row) => padded(row, columns)),
  };
}

function cellOf({ tokens }: Tokens.TableCell): Cell {
  return trimmed(inlinesOf(tokens));
}

function extraCells(line: string, known: number): Cell[] {
  const cells = line.trim().replace(/^\|/, '').split(BORDER);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.slice(known).map((text) => {
    const [token] = tokensOf(text.trim());
    return trimmed(inlinesOf(token !== undefined && 'tokens' in token ? token.tokens : []));
  });
}

function padded(row: readonly Cell[], columns: number): Cell[] {
  return Array.from({ length: columns }, (_, column) => row[column] ?? []);
}
