import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { bundle } from '../../scripts/bundle.mjs';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { BARE_ENV } from '../fixture/environment.ts';
import { bundlePrograms } from '../fixture/programs.ts';
import { temporaryFolder } from '../fixture/redis.ts';

const LATE = 'await import';
const DAY_MS = 24 * 60 * 60_000;
let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (file: string, content: string): Promise<void> => {
  await mkdir(join(folder, file, '..'), { recursive: true });
  await writeFile(join(folder, file), content);
};
const made = async (program = 'a/main.ts'): Promise<string> =>
  (await bundle(folder, [program], 'bundle'))[program] ?? '';
const run = async (program: string): Promise<string> =>
  (await promisify(execFile)(process.execPath, [program], { env: { ...BARE_ENV } })).stdout.trim();
const parts = async (): Promise<string[]> =>
  (await readdir(join(folder, 'bundle'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

async function changeOneByte(part: string): Promise<void> {
  const bytes = await readFile(part);
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  await writeFile(part, bytes);
}

/** A program with a part that it loads late. */
async function givenProgram(words: string): Promise<void> {
  await write('package-lock.json', '{}');
  await write('scripts/bundle.mjs', '');
  await write('a/main.ts', `const { said } = ${LATE}('../b/late.ts');\nconsole.log(said, import.meta.dirname);\n`);
  await write('b/late.ts', `export const said: string = '${words}';\n`);
}

test('a bundle does what its sources do, and each source knows its own folder', async () => {
  await givenProgram('first');
  expect(await run(await made())).toBe(`first ${join(folder, 'a')}`);
});

test('a bundle is made once, and anew when a source or the lock changes', async () => {
  await givenProgram('first');
  await made();
  const stamp = join(folder, 'bundle', 'stamp.json');
  const { mtimeMs } = await stat(stamp);
  await made();
  expect((await stat(stamp)).mtimeMs).toBe(mtimeMs);
  await write('b/late.ts', `export const said = 'second';\n`);
  expect(await run(await made())).toBe(`second ${join(folder, 'a')}`);
  const second = (await stat(stamp)).mtimeMs;
  await write('package-lock.json', '{"packages":{}}');
  await made();
  expect((await stat(stamp)).mtimeMs).toBeGreaterThan(second);
});

test('a source that is gone is an error, and the bundle of before does not stand in for it', async () => {
  await givenProgram('first');
  await made();
  await rm(join(folder, 'b'), { recursive: true });
  await expect(made()).rejects.toThrow(/late\.ts/);
});

test('a source that changes while the bundle is made is in the next one', async () => {
  await givenProgram('first');
  await write('a/main.ts', `import '../b/slow.ts';\nconsole.log('before');\n`);
  const slow = join(folder, 'b', 'slow.ts');
  await promisify(execFile)('mkfifo', [slow]);
  // The pipe opens when the bundler reads it, which is after it has read the program that imports it.
  const change = `exec 3> '${slow}'; echo "console.log('after');" > '${join(folder, 'a', 'main.ts')}'; echo 'export {};' >&3`;
  const changed = promisify(execFile)('sh', ['-c', change]);
  expect(await run(await made())).toBe('before');
  await changed;
  await rm(slow);
  await write('b/slow.ts', 'export {};\n');
  expect(await run(await made())).toBe('after');
});

test.each<[string, (part: string) => Promise<void>]>([
  ['is gone', (part) => rm(part)],
  ['is empty, as after a loss of power', (part) => truncate(part)],
  ['holds other words of the same length', changeOneByte],
])('a bundle of which a file %s is made anew', async (_what, injure) => {
  await givenProgram('first');
  const program = await made();
  for (const part of await parts()) {
    await injure(part);
    expect(await made()).toBe(program);
    expect(await run(program)).toBe(`first ${join(folder, 'a')}`);
  }
});

test('a process that runs with an older bundle finds for a month what it has yet to load', async () => {
  await givenProgram('first');
  await made();
  const first = (await parts()).filter((part) => part.includes('late'));
  const longAgo = new Date(Date.now() - 40 * DAY_MS);
  for (const part of await parts()) await utimes(part, longAgo, longAgo);
  await write('b/late.ts', `export const said = 'second';\n`);
  await made();
  expect(await parts()).toEqual(expect.arrayContaining(first));
  for (const part of first) await utimes(part, longAgo, longAgo);
  await write('b/late.ts', `export const said = 'third';\n`);
  await made();
  expect(await parts()).not.toEqual(expect.arrayContaining(first));
  expect(await run(await made())).toBe(`third ${join(folder, 'a')}`);
});

test('many starts at once get one whole bundle', async () => {
  await givenProgram('first');
  const programs = await Promise.all(Array.from({ length: 5 }, () => made()));
  expect(await Promise.all(programs.map(run))).toEqual(programs.map(() => `first ${join(folder, 'a')}`));
  expect((await parts()).filter((part) => part.endsWith('.part'))).toEqual([]);
});

test('a logged error names the place in the source', async () => {
  await givenProgram('first');
  await write(
    'a/main.ts',
    `import { describeError } from '${join(PROJECT_ROOT, 'shared/base/log.ts')}';
interface Gone {
  words: string;
}
function fail(gone?: Gone) {
  throw new Error(gone?.words ?? 'gone');
}
try {
  fail();
} catch (error) {
  console.log(describeError(error).stack);
}
`,
  );
  const place = join(folder, 'a', 'main.ts');
  expect(await run(await made())).toMatch(new RegExp(`at fail \\(file://${place}:6:9\\)\\n.* at file://${place}:9:`));
});

/** The parts of what tests spawn, and those among them that start something. */
async function givenPrograms(): Promise<{ parts: readonly string[]; programs: ReadonlySet<string> }> {
  const programs = new Set(Object.values(await bundlePrograms()));
  const stamp = await readFile(join(PROJECT_ROOT, '.cache', 'bundle-of-tests', 'stamp.json'), 'utf8');
  const { files } = JSON.parse(stamp) as { files: Record<string, string> };
  return { programs, parts: Object.keys(files).filter((file) => file.endsWith('.js')) };
}

test('every part of the programs loads, also those that are needed late', async () => {
  const { parts, programs } = await givenPrograms();
  const loadable = parts.filter((part) => !programs.has(part));
  expect(loadable.length).toBeGreaterThan(10);
  const load = 'for (const part of process.argv.slice(1)) await import(part);';
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', load, '--', ...loadable];
  const { stderr } = await promisify(execFile)(process.execPath, args, { env: { ...BARE_ENV } });
  expect(stderr).toBe('');
});

test.each(['ReplyError', 'UnrecoverableError', 'DelayedError', 'WaitingError', 'WaitingChildrenError'])(
  'the bundle keeps the name of the class %s, which somebody reads',
  async (name) => {
    const { parts } = await givenPrograms();
    const texts = await Promise.all(parts.map((part) => readFile(part, 'utf8')));
    const declared = texts.flatMap((text) =>
      [...text.matchAll(/\b(?:var \w+ = )?class (?:\w+ )?extends \w+ \{/g)].map(([found]) => found),
    );
    const own = declared.filter((found) => new RegExp(`\\b_?${name}\\d*\\b`).test(found));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((found) => !new RegExp(`^(?:var ${name} = class|class ${name}) extends`).test(found))).toEqual(
      [],
    );
  },
);
