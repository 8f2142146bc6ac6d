import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { editEnv, isWritable } from '../../../setup/env-write.ts';
import { parseEnvFile } from '../../../shared/base/env-file.ts';
import { SEEDED } from '../../fixture/texts.ts';

const edit = (text: string, changes: Record<string, string>) => editEnv(text, new Map(Object.entries(changes)));

test('a value keeps its line, its export and the comment behind it; of a repeated name the last line changes', () => {
  const text = '# mine\nexport A=1 # one\nB="x # y"  # two\nA=3\n';
  expect(edit(text, { A: '9', B: 'z' })).toBe('# mine\nexport A=1 # one\nB=z  # two\nA=9\n');
});

test('a name that stands there as a comment gets the next line, any other name the last one', () => {
  expect(edit('#A=default\n\nC=1', { A: '2', D: '3' })).toBe('#A=default\nA=2\n\nC=1\nD=3\n');
});

test('a name that only begins or ends like another one is another one', () => {
  expect(edit('MY_A=1\nAB=2\n', { A: '3' })).toBe('MY_A=1\nAB=2\nA=3\n');
});

test('Windows line ends stay, and an empty file without changes stays empty', () => {
  expect(edit('A=1\r\nB=2\r\n', { A: '3' })).toBe('A=3\r\nB=2\r\n');
  expect(edit('', {})).toBe('');
});

test('a value with spaces, dollars or # is quoted; one with a quote or a line end is refused', () => {
  expect(edit('', { A: 'a b', B: '$x', C: 'p#q', D: 'sk-ant:1/2' })).toBe("A='a b'\nB='$x'\nC='p#q'\nD=sk-ant:1/2\n");
  expect(isWritable("a'b")).toBe(false);
  expect(() => edit('', { A: 'a\nb' })).toThrow('cannot be written');
});

test('what is written is what is read back, and no other line changes', () => {
  const value = fc.string({ unit: 'grapheme' }).filter((each) => isWritable(each) && !/^\s|\s$/.test(each));
  const line = fc.constantFrom(
    '# a comment',
    'OTHER=1',
    "THIRD='x # y' # why",
    '',
    '#A=default',
    'A=old',
    'export A="old" # c',
  );
  fc.assert(
    fc.property(fc.array(line), value, (lines, given) => {
      const edited = edit(lines.join('\n'), { A: given });
      expect(parseEnvFile(edited, 'f')).toMatchObject({ values: { A: given }, problems: [] });
      const rest = (all: readonly string[]) => all.filter((each) => !/^(?:export )?A=/.test(each));
      expect(rest(edited.split('\n')).filter(Boolean)).toEqual(rest(lines).filter(Boolean));
    }),
    SEEDED,
  );
});
