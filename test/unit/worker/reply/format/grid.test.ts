import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { plain, type Table } from '../../../../../shared/flow/reply.ts';
import { columnWidths, GRID_COLUMNS, gridOf } from '../../../../../worker/reply/format/table-columns.ts';
import { headOf, widthOf, wrapLines } from '../../../../../worker/reply/format/width.ts';
import { forAll, graphemeTexts } from '../../../../fixture/texts.ts';

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
  ['\u0301\u0302', 0],
  ['ｶ\u3099', 1],
  ['\u0600١', 1],
  ['नि', 1],
  ['слово', 5],
  ['שלום', 4],
  ['—', 1],
  ['a\u200bb', 2],
])('%j takes %d columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test('pads cells by what they take on the screen', () => {
  expect(gridOf(tableOf(['name|n', '世界|1', '👍🏽|22'], ['left', 'right']))).toBe(
    'name |  n\n-----+---\n世界 |  1\n👍🏽   | 22',
  );
  expect(gridOf(tableOf(['abcde', 'x'], ['center']))).toBe('abcde\n-----\n  x');
  expect(gridOf(tableOf(['abcde|b', 'x|y'], ['center']))).toBe('abcde | b\n------+--\n  x   | y');
  expect(gridOf(tableOf(['a', '', 'b']))).toBe('a\n-\nb');
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

test.each([
  ['abcd ef', 4, ['abcd', 'ef']],
  ['a bc d', 4, ['a bc', 'd']],
  ['  a', 4, ['  a']],
  ['abcdefghij k', 4, ['abcd', 'efgh', 'ij k']],
  ['世界世界', 5, ['世界', '世界']],
])('%j is wrapped to %d columns', (text, columns, lines) => {
  expect(wrapLines(text, columns)).toEqual(lines);
});

test.each([
  ['👍👍', 3, '👍'],
  ['ab👩‍👩‍👧‍👦', 4, 'ab👩'],
  ['👩‍👩‍👧‍👦', 4, '👩\u200d'],
  [`e${'\u0301'.repeat(9)}`, 3, 'e\u0301\u0301'],
])('%j is cut to %d units: within a character only when it is longer than half of them', (text, units, head) => {
  expect(headOf(text, units)).toBe(head);
});

test('wraps any text into lines that fit, without loss', () => {
  forAll([graphemeTexts(30), fc.integer({ min: 2, max: 20 })], (text, columns) => {
    const lines = wrapLines(text, columns);
    expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
  });
});
