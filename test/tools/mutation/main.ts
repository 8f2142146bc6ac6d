import { join, relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { Refusal, runTool, say } from '../tool.ts';
import { PURE_ROOMS, type PureRoom } from './rooms.ts';

const HELP = `Usage: npm run mutation [-- options]

Changes the pure rooms a thousand times, one small thing at a time, and sees for each change whether a unit test goes
red. Prints what survived, and the score of each room; exits with 1 when one is below its floor (docs/testing.md).

  --room NAME       only this one of: ${PURE_ROOMS.map(({ name }) => name).join(', ')}
  --concurrency N   how many processes; default 1`;

const OPTIONS = { room: { type: 'string' }, concurrency: { type: 'string', default: '1' } } as const;

await runTool(HELP, OPTIONS, async (values) => {
  const rooms = PURE_ROOMS.filter(({ name }) => values.room === undefined || values.room === name);
  if (rooms.length === 0) throw new Refusal(`There is no room ${values.room}.`);
  const scores: string[] = [];
  for (const room of rooms) {
    const mutants = await mutantsOf(room, Number(values.concurrency));
    const killed = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout');
    const living = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
    const score = (100 * killed.length) / Math.max(1, killed.length + living.length);
    for (const mutant of living) say(lineOf(mutant));
    if (score < room.floor) process.exitCode = 1;
    const counts = `${killed.length} of ${killed.length + living.length}, floor ${room.floor} %`;
    scores.push(`${room.name}: ${score.toFixed(1)} % (${counts})`);
    say(scores.at(-1) ?? '');
  }
  say(`\nKilled:\n${scores.join('\n')}`);
});

function mutantsOf(room: PureRoom, concurrency: number): Promise<MutantResult[]> {
  const { sources, suites, runsMax = Number.MAX_SAFE_INTEGER } = room;
  const options = {
    mutate: [...sources],
    suites,
    runsMax,
    plugins: [join(import.meta.dirname, 'runner.ts')],
    testRunner: 'pure-suites',
    coverageAnalysis: 'perTest' as const,
    concurrency,
    // Modules that were loaded once are never let go.
    maxTestRunnerReuse: 100,
    tempDirName: join('.cache', 'mutation'),
    ignorePatterns: ['.cache', 'dist', 'data'],
    // Node strips the types, and TypeScript 7 has no interface by which Stryker could rewrite its settings.
    disableTypeChecks: false,
    tsconfigFile: 'none',
    checkers: [],
    reporters: ['progress-append-only'],
    warnings: false,
  };
  return new Stryker(options).runMutationTest();
}

/** A survivor, as an editor finds it. */
function lineOf({ fileName, location, mutatorName, replacement, status }: MutantResult): string {
  const place = `${relative(PROJECT_ROOT, fileName)}:${location.start.line}:${location.start.column}`;
  return `${place} ${status} ${mutatorName}: ${(replacement ?? '').replaceAll(/\s+/g, ' ').slice(0, 120)}`;
}
