import { execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { type Ended, endOf } from '../../chaos/mutant-copy.ts';
import { Refusal, runTool, say, type Values } from '../tool.ts';
import { drawMutants, mutated, type RandomMutant } from './draw.ts';

const HELP = `Usage: npm run mutants -- --random N --seed S [options]

Changes random lines of the product, one small thing at a time, in a clone of the last commit: negates a condition, drops a
statement, swaps a constant. A change that does not compile is no mutant. For each mutant runs npm test's suites, the
nearest first, until one is red; then those of npm run test:deep. Prints each mutant with the suite that caught it, and the
survivors at the end. A minute or two for each that is caught, half an hour for a survivor.

  --random N   how many mutants
  --seed S     which
  --from N     leaves out the first so many, to go on where another run ended
  --list       only prints them`;

/** A suite that hangs is red by Jest's own limit of three minutes; this bounds all of them. */
const SUITES_MS = 2_400_000;
const JEST = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--bail', '--maxWorkers=3'];
const UNENDED = 'the suites did not end';
const SEQUENCER = ['--testSequencer', '<rootDir>/test/environment/nearest.mjs'];

const OPTIONS = {
  random: { type: 'string', default: '0' },
  seed: { type: 'string', default: '1' },
  from: { type: 'string', default: '0' },
  list: { type: 'boolean', default: false },
} as const;
const run = promisify(execFile);
let folder = '';
const removeFolder = (): void => {
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
};

await runTool(HELP, OPTIONS, play, removeFolder);

async function play(values: Values<typeof OPTIONS>): Promise<void> {
  const [count = 0, seed = 0, from = 0] = [values.random, values.seed, values.from].map(Number);
  if (![count, seed, from].every(Number.isSafeInteger) || count < 1)
    throw new Refusal('--random is a whole number from 1.');
  folder = await mkdtemp(join(tmpdir(), 'spillway-mutants-'));
  // Some tests are about other users of the machine, who must reach Node.
  await chmod(folder, 0o755);
  await run('git', ['clone', '--quiet', '--shared', PROJECT_ROOT, folder]);
  for (const name of ['node_modules', '.cache']) await run('cp', ['-al', join(PROJECT_ROOT, name), folder]);
  const survivors: RandomMutant[] = [];
  let drawn = 0;
  for (const mutant of drawMutants(seed)) {
    if (drawn === count) break;
    if (!(await compiles(mutant))) continue;
    drawn += 1;
    if (drawn <= from) continue;
    const caughtBy = values.list ? 'not played' : await catcherOf(mutant);
    if (caughtBy === undefined) survivors.push(mutant);
    say(`${String(drawn).padStart(3)}  ${lineOf(mutant)}\n     ${caughtBy ?? 'SURVIVED'}`);
  }
  if (values.list) return;
  const played = count - from;
  say(`\n${played - survivors.length} of ${played} caught, seed ${seed}.`);
  for (const mutant of survivors) say(`survived: ${lineOf(mutant)}`);
  process.exitCode = survivors.length > 0.1 * played ? 1 : 0;
}

function lineOf({ file, line, kind, before, after }: RandomMutant): string {
  return `${file}:${line} ${kind}: ${before.trim()} -> ${after.trim() || '(dropped)'}`;
}

async function compiles(mutant: RandomMutant): Promise<boolean> {
  if (mutant.file.endsWith('.lua')) return true;
  return (await withMutant(mutant, () => exitOf(['node_modules/typescript/bin/tsc', '--noEmit'], mutant))).code === 0;
}

/**
 * The first suite that is red with the mutant, and red again by itself; `undefined` if none is. Throws where that suite is
 * red without the mutant, too.
 */
async function catcherOf(mutant: RandomMutant): Promise<string | undefined> {
  for (const config of [[], ['--config', 'jest.deep.config.js']]) {
    const suites = [...JEST, ...config];
    const suite = await withMutant(mutant, () => redSuiteOf([...suites, ...SEQUENCER], mutant));
    if (suite === undefined) continue;
    if (suite === UNENDED) return suite;
    const alone = [...suites, '--runTestsByPath', suite];
    if ((await withMutant(mutant, () => redSuiteOf(alone, mutant))) === undefined) {
      say(`     ${suite} was red only once: once more`);
      return catcherOf(mutant);
    }
    if ((await redSuiteOf(alone, mutant)) !== undefined) throw new Error(`${suite} is red without any mutant.`);
    return suite;
  }
  return undefined;
}

async function redSuiteOf(args: readonly string[], mutant: RandomMutant): Promise<string | undefined> {
  const { code, printed } = await exitOf(args, mutant);
  if (code === 0) return undefined;
  if (code === null) return UNENDED;
  const suite = /^FAIL (\S+)/m.exec(printed)?.[1];
  // Jest itself failed: that says nothing about the mutant.
  if (suite === undefined) throw new Error(printed);
  return suite;
}

async function withMutant<Result>(mutant: RandomMutant, work: () => Promise<Result>): Promise<Result> {
  const path = join(folder, mutant.file);
  await writeFile(path, mutated(mutant));
  try {
    return await work();
  } finally {
    await run('git', ['-C', folder, 'checkout', '--quiet', '--', mutant.file]);
  }
}

/** Runs a program of Node in the clone, in a group of its own, which is ended as a whole after the limit. */
function exitOf(args: readonly string[], { file }: RandomMutant): Promise<Ended> {
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    cwd: folder,
    env: { ...process.env, MUTANT_FILE: file },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return endOf(child, () => void (child.pid !== undefined && process.kill(-child.pid, 'SIGKILL')), SUITES_MS);
}
