import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import type { Survey } from './mutant-survey.ts';
import { COLUMN_NAMES, cellsOf, violationLine } from './report.ts';
import { caughtBy, type Played } from './suite.ts';

/** A whole suite with what it came to. */
export interface Suite {
  seed: number;
  startedMs: number;
  endedMs: number;
  played: readonly Played[];
  surveys: readonly Survey[];
}

/** What a run was made on. */
export interface Ground {
  node: string;
  redis: string;
  cores: number;
}

const FILE = join(PROJECT_ROOT, '.cache', 'chaos-suite.md');
const run = promisify(execFile);

/** What this machine runs a suite on. */
export async function groundOf({ command, env }: FoundRedisServer): Promise<Ground> {
  const { stdout } = await run(command, ['--version'], { env });
  return { node: process.version, redis: /v=([\d.]+)/.exec(stdout)?.[1] ?? 'unknown', cores: cpus().length };
}

/** Keeps what a whole suite came to, for people; answers the file. */
export async function writeSuite(suite: Suite, ground: Ground): Promise<string> {
  await mkdir(join(FILE, '..'), { recursive: true });
  await writeFile(FILE, suiteReport(suite, ground));
  return FILE;
}

/** The report as Markdown. Pure. */
export function suiteReport({ seed, startedMs, endedMs, played, surveys }: Suite, ground: Ground): string {
  const results = played.flatMap(({ result }) => (result ? [result] : []));
  const sum = (count: (result: (typeof results)[number]) => number): number =>
    results.reduce((total, result) => total + count(result), 0);
  const held = results.filter(({ violations }) => violations.length === 0).length;
  const caught = surveys.filter(({ isCaught }) => isCaught).length;
  return [
    '# The whole suite',
    '',
    `Written by \`npm run chaos -- --seed ${seed}\` on ${new Date(startedMs).toISOString().slice(0, 10)}: ${minutes(endedMs - startedMs)} minutes, ${ground.cores} cores, Node ${ground.node}, Redis ${ground.redis}.`,
    '',
    `**${held} of ${played.length} scenarios hold.** ${sum(({ messages }) => messages)} messages, ${sum(({ faults }) => faults)} faults, ${sum(({ again }) => again)} model calls beyond the first of their message, ${sum(({ extra }) => extra)} texts or placeholders twice where a send's result was unknown, ${sum(({ violations }) => violations.length)} violations. **${caught} of ${surveys.length} mutants are caught.**`,
    '',
    'The columns are explained in docs/testing.md.',
    '',
    row(COLUMN_NAMES.toSpliced(1, 0, 'what happens')),
    row(COLUMN_NAMES.toSpliced(1, 0, '').map(() => '---')),
    ...played.flatMap(rowsOf),
    '',
    '## Mutants',
    '',
    'Each is the product with one safeguard taken out; the scenario must notice.',
    '',
    row(['without the safeguard', 'scenario', 'result', 'what was seen first']),
    row(['---', '---', '---', '---']),
    ...surveys.map((survey) =>
      row([survey.name, survey.scenario, survey.isCaught ? 'caught' : 'ESCAPED', caughtBy(survey)]),
    ),
    '',
  ].join('\n');
}

function rowsOf({ scenario, result, problem }: Played): string[] {
  if (result === undefined) return [row([scenario.name, scenario.about, `not played: ${problem}`])];
  const cells = cellsOf(result);
  return [
    row([...cells.slice(0, 1), scenario.about, ...cells.slice(1)]),
    ...result.violations.map((each) => row(['', violationLine(each)])),
  ];
}

const row = (cells: readonly (string | number)[]): string =>
  `| ${cells.map((cell) => String(cell).replaceAll('|', '/')).join(' | ')} |`;

const minutes = (ms: number): string => (ms / 60_000).toFixed(1);
