import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { BARE_ENV } from '../fixture/environment.ts';
import { temporaryFolder } from '../fixture/redis.ts';

const COPIED = ['scripts', 'producer', 'worker', 'shared', 'test', 'package.json', 'tsconfig.json', 'spillway.ts'];
const LINKED = ['package-lock.json', 'node_modules'];
const CACHE = '.cache';

/** One text that is replaced in a file of the product. */
export interface Mutation {
  file: string;
  from: string;
  to: string;
}

/** How a program ended: without a code where a signal ended it. */
export interface Ended {
  code: number | null;
  printed: string;
}

/** Runs a program of a copy with the mutant in it. Rejects when a text to replace is not found once. */
export async function inMutantCopy(
  mutations: readonly Mutation[],
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<Ended> {
  const copy = await mutantCopy(mutations);
  try {
    return await run(join(copy.folder, program), args, timeoutMs);
  } finally {
    await copy.remove();
  }
}

/** A copy of the product with the mutant in it. Rejects when a text to replace is not found once. */
export async function mutantCopy(mutations: readonly Mutation[]): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await temporaryFolder();
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (const name of COPIED) await cp(join(PROJECT_ROOT, name), join(folder, name), { recursive: true });
    for (const name of [...LINKED, ...(await sharedCaches())]) await link(name, folder);
    for (const mutation of mutations) await mutate(folder, mutation);
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** What is kept of downloads and compiled code. */
async function sharedCaches(): Promise<string[]> {
  const names = await readdir(join(PROJECT_ROOT, CACHE));
  return names.map((name) => join(CACHE, name));
}

async function link(name: string, folder: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await symlink(join(PROJECT_ROOT, name), join(folder, name));
}

async function mutate(folder: string, { file, from, to }: Mutation): Promise<void> {
  const path = join(folder, file);
  const before = await readFile(path, 'utf8');
  const found = before.split(from).length - 1;
  if (found !== 1) throw new Error(`${file} holds the text to replace ${found} times, not once: ${from}`);
  await writeFile(
    path,
    before.replace(from, () => to),
  );
}

function run(program: string, args: readonly string[], timeoutMs: number): Promise<Ended> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    env: BARE_ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // SIGTERM lets it end what it started.
  return endOf(child, () => void child.kill('SIGTERM'), timeoutMs);
}

/** How a child ended, and what it printed. `end` ends the child when its time is up, and when this process ends. */
export async function endOf(
  child: ChildProcessByStdio<null, Readable, Readable>,
  end: () => void,
  timeoutMs: number,
): Promise<Ended> {
  const timer = setTimeout(end, timeoutMs);
  process.once('exit', end);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  clearTimeout(timer);
  process.off('exit', end);
  return { code, printed: `${stdout}${stderr}` };
}
