import type { Exploration } from './explore.ts';
import type { Played } from './schedule.ts';

/** What came of a mutant. */
export interface Surveyed {
  readonly name: string;
  readonly found?: { readonly schedules: number; readonly seen: string };
}

/** What an exploration came to, for a terminal; of the first that is red, the steps with the faults that it needs. */
export function linesOf(
  { played, red, traces, steps, messages, seed, firstRed, places }: Exploration,
  shrunk?: Played,
): string[] {
  const total = `${played} schedules (seeds ${seed} to ${seed + played - 1}), ${messages} messages, ${steps} steps, ${traces} different traces, faults at ${places.size} places, ${red} red`;
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
