import type { Invariant } from './judge.ts';
import type { Mutant } from './mutant.ts';
import { inMutantCopy } from './mutant-copy.ts';

/** What a mutant came to. */
export interface Survey {
  name: string;
  scenario: string;
  violates: Invariant;
  isCaught: boolean;
  /** What the scenario printed. */
  printed: string;
}

/** Many times what the sound product needs in these scenarios. */
const PATIENCE_S = 6;
const MUTANT_MS = 150_000;

/** Makes a copy with the mutant in it, and runs its scenario there. Rejects when a text to replace is not found once. */
export async function surveyMutant(mutant: Mutant, seed: number): Promise<Survey> {
  const { name, scenario, violates, patienceS = PATIENCE_S } = mutant;
  const given = ['--only', scenario, '--seed', String(seed), '--patience', String(patienceS)];
  const { code, printed } = await inMutantCopy(mutant.mutations, 'test/chaos/main.ts', given, MUTANT_MS);
  // Only that violation counts: a copy that does not start would be red for nothing.
  const isCaught = code === 1 && printed.includes('VIOLATED') && printed.includes(`\n  ${violates}, `);
  return { name, scenario, violates, isCaught, printed };
}
