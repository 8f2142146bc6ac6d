import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../../shared/base/project.ts';
import { PIECES_FOLDER, readScript } from '../../../../shared/redis/script.ts';
import { temporaryFile } from '../../../fixture/temporary-file.ts';

const INCLUDE = /^-- include: .*$/m;

const luaFiles = ['producer', 'worker', 'shared'].flatMap((folder) =>
  readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.lua'))
    .map((name) => join(PROJECT_ROOT, folder, name)),
);
const scripts = luaFiles.filter((file) => dirname(file) !== PIECES_FOLDER);
const pieces = luaFiles.filter((file) => dirname(file) === PIECES_FOLDER).map((file) => textOf(file));

function textOf(file: string): { name: string; text: string } {
  return { name: basename(file, '.lua'), text: readFileSync(file, 'utf8') };
}

/** The functions that a text defines and does not only use itself. */
function functionsOf(text: string): string[] {
  return [...text.matchAll(/^local function (\w+)/gm)].map(([, name]) => name ?? '');
}

function calls(text: string, name: string): boolean {
  return text.split('\n').some((line) => !line.startsWith('--') && new RegExp(`\\b${name}\\(`).test(line));
}

test('no two scripts have one name, by which a connection knows them', () => {
  const names = scripts.map((file) => basename(file));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

const NAMED = scripts.map((file) => [relative(PROJECT_ROOT, file), file]);

test.each(NAMED)('%s documents its KEYS, ARGV and reply, and includes the pieces that it calls', (_name, file) => {
  const [own, whole] = [textOf(file).text, readScript(file)];
  expect(own).toMatch(/^-- [\s\S]*?^-- KEYS {2}[\s\S]*?^-- ARGV {2}[\s\S]*?^-- Reply /m);
  expect(whole).not.toMatch(INCLUDE);
  const includes = (INCLUDE.exec(own)?.[0] ?? '').replace('-- include: ', '').split(', ');
  // No more and no less than what it calls.
  const called = pieces.filter(({ text }) => functionsOf(text).some((name) => calls(own, name)));
  expect(includes.filter((name) => name !== '').sort()).toEqual(called.map(({ name }) => name).sort());
  for (const { name, text } of pieces) expect(whole.split(text)).toHaveLength(includes.includes(name) ? 2 : 1);
  expect(new Set(functionsOf(whole)).size).toBe(functionsOf(whole).length);
});

test('every piece is included by more than one script and includes no other piece', () => {
  expect(pieces.length).toBeGreaterThan(0);
  for (const { name, text } of pieces) {
    expect(text).not.toMatch(INCLUDE);
    expect([name, scripts.filter((file) => readScript(file).includes(text)).length > 1]).toEqual([name, true]);
  }
});

test('readScript throws on an unknown piece and names the script and the piece', async () => {
  const file = await temporaryFile('-- What.\n-- include: time, wings\nreturn 1\n');
  expect(() => readScript(file)).toThrow(`${basename(file)} includes the piece "wings"`);
});
