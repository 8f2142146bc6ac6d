import { lstatSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { writeEnv } from '../../../setup/env-write.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'spillway-setup-'));
const changes = new Map([['A', '2']]);

test('a new file begins as the template, and only its owner can read it', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'template'), '# words\n#A=1\n');
  await writeEnv(join(folder, '.env'), join(folder, 'template'), changes);
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('# words\n#A=1\nA=2\n');
  expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
});

test('a file that is a link stays one, and what it points to is changed', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, 'real'), 'A=1\n');
  symlinkSync(join(folder, 'real'), join(folder, '.env'));
  await writeEnv(join(folder, '.env'), 'none', changes);
  expect(lstatSync(join(folder, '.env')).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('A=2\n');
});

test('a write that fails leaves the old text, and no other file', async () => {
  const folder = newFolder();
  writeFileSync(join(folder, '.env'), 'A=1\n');
  await expect(writeEnv(join(folder, '.env'), 'none', new Map([['A', 'two\nlines']]))).rejects.toThrow();
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('A=1\n');
  expect(readdirSync(folder)).toEqual(['.env']);
});
