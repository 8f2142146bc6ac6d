/** Stands for `fast-check` where tests are run by `runner.ts`: the same cases for each mutant, and no shrinking. */
import fc, { type IProperty, type Parameters } from 'fast-check';

/** How many cases a property draws at most. */
export const limit = { runs: Number.POSITIVE_INFINITY };

function assert<Drawn>(property: IProperty<Drawn>, given: Parameters<Drawn> = {}): unknown {
  const numRuns = Math.min(limit.runs, given.numRuns ?? 100);
  // A promise for an asynchronous property: its caller waits for it.
  return fc.assert(property, { seed: 1, ...given, endOnFailure: true, numRuns });
}

/** The module's default export. */
export const draws = { ...fc, assert };
