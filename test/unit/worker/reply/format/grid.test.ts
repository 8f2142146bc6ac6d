import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { plain, type Table } from '../../../../../shared/flow/reply.ts';
import { columnWidths, GRID_COLUMNS, gridOf } from '../../../../../worker/reply/format/table-columns.ts';
import { widthOf, wrapped } from '../../../../../worker/reply/format/width.ts';
import { graphemeTexts, SEEDED } from '../../../../fixture/texts.ts';

function tableOf(rows: string[], align: Table['align'] = []): Table {
  const [header = [], ...cells] = rows.map((row) => row.split('|').map((text) => [plain(text)]));
  return { type: 'table', header, align, rows: cells };
}

test.each<[string, number]>([
  ['abc', 3],
  ['世界', 4],
  ['ｗｉｄｅ', 8],
  ['한국어', 6],
  ['👍🏽', 2],
  ['👩‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
  ['1️⃣', 2],
  ['e\u0301', 1],
  ['नि', 1],
  ['слово', 5],
  ['שלום', 4],
  ['—', 1],
  ['a\u200bb', 2],
])('%j takes %d columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test('wraps cells such that a phone shows whole lines', () => {
  const words = 'a|It keeps every word of the cell and breaks the line at spaces.';
  const lines = gridOf(tableOf(['option|what it does', words])).split('\n');
  expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(GRID_COLUMNS);
  expect(lines.slice(2)).toEqual([
    'a      | It keeps every word of the cell',
    '       | and breaks the line at spaces.',
  ]);
});

test('narrows the widest columns first', () => {
  expect(columnWidths(tableOf(['a|b|c', `x|${'y'.repeat(10)}|${'z'.repeat(90)}`]))).toEqual([1, 10, 23]);
  const wide = Array.from({ length: 12 }, () => 'x'.repeat(20)).join('|');
  expect(columnWidths(tableOf([wide]))).toEqual(Array.from({ length: 12 }, () => 8));
});

test('wraps any text into lines that fit, without loss', () => {
  fc.assert(
    fc.property(graphemeTexts(30), fc.integer({ min: 2, max: 20 }), (text, columns) => {
      const lines = wrapped(text, columns);
      expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
    }),
    SEEDED,
  );
});
