import { expect, test } from '@jest/globals';
import { MUTANTS, surveyMutant } from '../chaos/mutants.ts';

/**
 * The fault-injection suite is tested itself: without each of the safeguards that the promise rests on, it must go red.
 * The other mutants run with `npm run chaos -- --mutants`.
 */
const SEED = 20_261_122;
const MUTANT_MS = 90_000;

test.each(MUTANTS.filter(({ isInCut }) => isInCut).map((mutant) => [mutant.name, mutant.scenario, mutant] as const))(
  'the suite goes red when %s (%s)',
  async (_name, _scenario, mutant) => {
    const { isCaught, printed } = await surveyMutant(mutant, SEED);
    expect(printed).toContain('VIOLATED');
    expect({ isCaught, printed }).toMatchObject({ isCaught: true });
  },
  MUTANT_MS,
);
