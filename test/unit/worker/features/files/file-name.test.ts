import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fileName } from '../../../../../worker/features/files/feature.ts';
import { forAll } from '../../../../fixture/texts.ts';

test.each([
  ['table.csv', 'table.csv'],
  ['表格 2026.csv', '表格 2026.csv'],
  ['/etc/passwd.txt', 'passwd.txt'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['invoice\u202Efdp.exe', 'invoicefdp.exe'],
  ['a\u0000b\nc.md', 'abc.md'],
  ['  two   words .md', 'two words.md'],
  ['...hidden.txt', 'hidden.txt'],
  ['archive.tar.gz', 'archive.tar.gz'],
  [`${'long '.repeat(40)}.txt`, `${'long '.repeat(11)}long.txt`],
])('%j is sent as %j', (wanted, name) => {
  expect(fileName(wanted)).toBe(name);
});

const NO_NAMES = [
  '',
  'table',
  '.gitignore',
  'folder/',
  'name.',
  'name.a b',
  '../',
  '\u202E.txt',
  `x.${'e'.repeat(11)}`,
];

test.each(NO_NAMES)('%j is no name for a file', (wanted) => {
  expect(fileName(wanted)).toBeUndefined();
});

test('whatever is wanted, a name has no path, no control or direction character, 64 characters and an extension', () => {
  forAll([fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom('', '.txt', '/.md')], (stem, end) => {
    const name = fileName(`${stem}${end}`);
    if (name === undefined) return;
    expect(name).toMatch(/^[^\\/\p{Cc}\p{Cf}\p{Cs}]+\.[A-Za-z0-9]{1,10}$/u);
    expect(name.length).toBeLessThanOrEqual(64);
    expect(fileName(name)).toBe(name);
  });
});
