import { lstatSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { editEnv, isWritable, writeEnv } from '../../../setup/env-write.ts';
import { parseEnvFile } from '../../../shared/base/env-file.ts';
import { forAll } from '../../fixture/texts.ts';

const edit = (text: string, changes: Record<string, string>) => editEnv(text, new Map(Object.entries(changes)));

test.each([
  [
    'a value keeps its line, its export and the comment behind it; of a repeated name the last line changes',
    '# mine\nexport A=1 # one\nB="x # y"  # two\nA=3\n',
    { A: '9', B: 'z' },
    '# mine\nexport A=1 # one\nB=z  # two\nA=9\n',
  ],
  ['a name in a comment gets the next line', '#A=default\n\nC=1', { A: '2', D: '3' }, '#A=default\nA=2\n\nC=1\nD=3\n'],
  ['a name that begins or ends alike is another one', 'MY_A=1\nAB=2\n', { A: '3' }, 'MY_A=1\nAB=2\nA=3\n'],
  ['Windows line ends stay', 'A=1\r\nB=2\r\n', { A: '3' }, 'A=3\r\nB=2\r\n'],
  ['an empty file without changes stays empty', '', {}, ''],
  [
    'spaces, dollars and # are quoted',
    '',
    { A: 'a b', B: '$x', C: 'p#q', D: 'sk:1/2' },
    "A='a b'\nB='$x'\nC='p#q'\nD=sk:1/2\n",
  ],
])('%s', (_, text, changes, edited) => {
  expect(edit(text, changes)).toBe(edited);
});

test('a value with a quote or a line end is refused', () => {
  expect(isWritable("a'b")).toBe(false);
  expect(() => edit('', { A: 'a\nb' })).toThrow('cannot be written');
});

test('what is written is what is read back, and no other line changes', () => {
  const value = fc.string({ unit: 'grapheme' }).filter((each) => isWritable(each) && !/^\s|\s$/.test(each));
  const lines = '# a comment·OTHER=1·THIRD=\'x # y\' # why··#A=default·A=old·export A="old" # c'.split('·');
  forAll([fc.array(fc.constantFrom(...lines)), value], (before, given) => {
    const edited = edit(before.join('\n'), { A: given });
    expect(parseEnvFile(edited, 'f')).toMatchObject({ values: { A: given }, problems: [] });
    const rest = (all: readonly string[]) => all.filter((each) => !/^(?:export )?A=/.test(each));
    expect(rest(edited.split('\n')).filter(Boolean)).toEqual(rest(before).filter(Boolean));
  });
});

test('a new file begins as the template and is private, a link stays one, and a write that fails leaves all as it was', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-setup-'));
  const [file, link, template] = ['real', '.env', 'template'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const text = () => readFileSync(file, 'utf8');
  writeFileSync(template, '# words\n#A=1\n');
  await writeEnv(file, template, new Map([['A', '2']]));
  expect([text(), statSync(file).mode & 0o777]).toEqual(['# words\n#A=1\nA=2\n', 0o600]);
  symlinkSync(file, link);
  await writeEnv(link, 'none', new Map([['A', '3']]));
  await expect(writeEnv(link, 'none', new Map([['A', 'two\nlines']]))).rejects.toThrow();
  expect([lstatSync(link).isSymbolicLink(), text()]).toEqual([true, '# words\n#A=1\nA=3\n']);
  expect(readdirSync(folder).sort()).toEqual(['.env', 'real', 'template']);
});
