import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseEnvFile, readEnvFile } from '../../../../shared/base/env-file.ts';

function fileWith(text: string, mode = 0o600): string {
  const file = join(mkdtempSync(join(tmpdir(), 'spillway-env-')), '.env');
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

test('names, quotes, comments, export, a byte order mark and Windows line ends are read as people write them', () => {
  const text = `\uFEFFA=1\r\n# a comment\r\n\r\nexport B='q#r'\nC = "x y" # said why\nD=plain # said why\nE=\nA=last\n`;
  expect(parseEnvFile(text, 'f')).toEqual({
    values: { A: 'last', B: 'q#r', C: 'x y', D: 'plain', E: '' },
    problems: [],
  });
});

test('each line that programs would read differently is named by its number, without its content', () => {
  const text = 'A=1\nsk-ant-secret\n1X=secret\nB=\'secret\nC="secret"tail\nD=pass#secret\nF=`secret`\nE=2';
  const { values, problems } = parseEnvFile(text, '.env');
  expect(values).toEqual({ A: '1', E: '2' });
  expect(problems.map((problem) => problem.replace(/: .*/, ''))).toEqual(
    [2, 3, 4, 5, 6, 7].map((line) => `.env line ${line}`),
  );
  expect(problems.join()).not.toContain('secret');
});

test('a value with quotes that were never closed does not swallow the lines after it', () => {
  const { values, problems } = parseEnvFile('A="open\nB=2\nC="shut"', 'f');
  expect(values).toEqual({ B: '2', C: 'shut' });
  expect(problems).toHaveLength(1);
});

test('a missing file is nothing, a folder in its place is a problem', () => {
  expect(readEnvFile(join(tmpdir(), 'spillway-not-there'))).toBeUndefined();
  expect(readEnvFile(tmpdir())).toMatchObject({ values: {}, problems: [expect.stringContaining('EISDIR')] });
});

test('a file with secrets that everybody can read is warned about; without secrets, or kept to its owner, it is not', () => {
  expect(readEnvFile(fileWith('ANTHROPIC_API_KEY=sk', 0o644))?.warnings).toEqual([
    expect.stringMatching(/holds secrets .*: chmod 600 /),
  ]);
  expect(readEnvFile(fileWith('ANTHROPIC_API_KEY=sk', 0o640))?.warnings).toEqual([]);
  expect(readEnvFile(fileWith('ANTHROPIC_API_KEY=\nTZ=UTC', 0o644))?.warnings).toEqual([]);
});
