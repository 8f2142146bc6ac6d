import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { type Ground, groundOf } from '../chaos/suite-report.ts';
import type { Exploration } from './explore.ts';
import { OUTSIDE } from './mutants.ts';
import type { Played } from './schedule.ts';

const FILE = join(PROJECT_ROOT, '.cache', 'schedules.md');

/** What came of a mutant. */
export interface Surveyed {
  readonly name: string;
  readonly found?: { readonly schedules: number; readonly seen: string };
}

/** When an exploration began and ended. */
export interface Took {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** What an exploration came to, for a terminal; of the first that is red, the steps with the faults that it needs. */
export function linesOf(
  { played, red, traces, steps, messages, seed, firstRed }: Exploration,
  shrunk?: Played,
): string[] {
  const total = `${played} schedules (seeds ${seed} to ${seed + played - 1}), ${messages} messages, ${steps} steps, ${traces} different traces, ${red} red`;
  if (firstRed === undefined || shrunk === undefined) return [total];
  return [
    total,
    `RED after ${firstRed.seed - seed + 1} schedules: ${firstSeen(shrunk)}`,
    `Again: npm run schedules -- --count 1 --seed ${firstRed.seed}`,
    ...shrunk.violations.map(({ invariant, seen }) => `  ${invariant}, ${seen}`),
    `What happens, with ${shrunk.faults.length} of its ${firstRed.faults.length} faults:`,
    ...shrunk.trace.map((line, at) => `  ${at + 1}. ${line}`),
  ];
}

/** What a red schedule violated first. */
export function firstSeen({ violations: [first] }: Played): string {
  return first === undefined ? 'nothing' : `${first.invariant}, ${first.seen}`;
}

/** Keeps what an exploration came to, for people; returns the file. */
export async function writeReport(
  explored: Exploration,
  surveys: readonly Surveyed[],
  took: Took,
  server: FoundRedisServer,
): Promise<string> {
  await mkdir(join(FILE, '..'), { recursive: true });
  await writeFile(FILE, report(explored, surveys, took, await groundOf(server)));
  return FILE;
}

/** The report as Markdown. Pure. */
function report(explored: Exploration, surveys: readonly Surveyed[], took: Took, ground: Ground): string {
  const { seed, played, messages, steps, traces, red } = explored;
  const minutes = ((took.endedMs - took.startedMs) / 60_000).toFixed(1);
  const found = surveys.filter((survey) => survey.found).length;
  return [
    '# Every interleaving',
    '',
    `Written by \`npm run schedules -- --count ${played} --seed ${seed} --report\` on ${new Date(took.startedMs).toISOString().slice(0, 10)}: ${minutes} minutes, ${ground.cores} cores, Node ${ground.node}, Redis ${ground.redis}.`,
    '',
    `**${played} schedules, ${red} red.** ${messages} messages, ${steps} steps, ${traces} different traces. **${found} of ${surveys.length} mutants are found.** How it works is in docs/testing.md.`,
    '',
    '## Faults that were played',
    '',
    row(['fault', 'times']),
    row(['---', '---']),
    ...byCount(explored.faults).map(([fault, times]) => row([fault, times])),
    '',
    `They struck at ${explored.places.size} places (a step, and the moment before, in or after it). Steps: ${struckSteps(explored.places)}.`,
    '',
    '## Mutants',
    '',
    'Each is the product with one safeguard taken out; a schedule must be red.',
    '',
    row(['without the safeguard', 'result', 'what was seen first']),
    row(['---', '---', '---']),
    ...surveys.map(({ name, found: by }) =>
      row([name, by ? `found after ${by.schedules} schedules` : 'NOT FOUND', by?.seen ?? '']),
    ),
    '',
    'The others of the fault-injection suite lie outside of what a schedule holds; that suite catches them.',
    '',
    row(['mutant', 'what it is about']),
    row(['---', '---']),
    ...OUTSIDE.map(({ name, why }) => row([name, why])),
    '',
  ].join('\n');
}

/** The steps at which faults struck, with how often: a place is a step, a comma, and what happened there. */
function struckSteps(places: ReadonlyMap<string, number>): string {
  const steps = new Map<string, number>();
  for (const [place, times] of places) {
    const step = place.split(', ')[0] ?? place;
    steps.set(step, (steps.get(step) ?? 0) + times);
  }
  return byCount(steps)
    .map(([step, times]) => `${step} (${times})`)
    .join(', ');
}

function byCount<Key>(counts: ReadonlyMap<Key, number>): [Key, number][] {
  return [...counts].sort(([, one], [, other]) => other - one);
}

const row = (cells: readonly unknown[]): string =>
  `| ${cells.map((cell) => String(cell).replaceAll('|', '/')).join(' | ')} |`;
