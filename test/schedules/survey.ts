import { inMutantCopy } from '../chaos/mutant-copy.ts';
import { onRedis } from './connection.ts';
import { explore, shrink } from './explore.ts';
import type { FindableMutant } from './mutants.ts';
import { firstSeen, linesOf } from './report.ts';

/** What came of a mutant. */
export interface Survey {
  readonly name: string;
  /** After how many schedules the first one was red, and what it violated first; absent where none was. */
  readonly found?: { readonly schedules: number; readonly seen: string };
  readonly printed: string;
}

const TIMEOUT_MS = 300_000;
const FOUND = /^RED after (\d+) schedules: (.+)$/m;

/** Plays schedules against the product without a safeguard, until one is red. */
export async function surveyMutant(mutant: FindableMutant, seed: number, count: number): Promise<Survey> {
  const isInScripts = mutant.mutations.every(({ file }) => /^(?!shared\/redis\/lua\/).+\.lua$/.test(file));
  return isInScripts ? surveyScripts(mutant, seed, count) : surveyCopy(mutant, seed, count);
}

/** A mutation of whole scripts needs no copy of the product: the connection sends them mutated. */
async function surveyScripts({ name, mutations }: FindableMutant, seed: number, count: number): Promise<Survey> {
  return onRedis(async (redis) => {
    const explored = await explore(redis, { seed, count, untilRed: true });
    const { firstRed } = explored;
    if (firstRed === undefined) return { name, printed: linesOf(explored).join('\n') };
    const shrunk = await shrink(redis, firstRed);
    const found = { schedules: firstRed.seed - seed + 1, seen: firstSeen(shrunk) };
    return { name, found, printed: linesOf(explored, shrunk).join('\n') };
  }, mutations);
}

async function surveyCopy(mutant: FindableMutant, seed: number, count: number): Promise<Survey> {
  const args = ['--until-red', '--seed', String(seed), '--count', String(count)];
  const { code, printed } = await inMutantCopy(mutant.mutations, 'test/schedules/main.ts', args, TIMEOUT_MS);
  const [, schedules, seen = ''] = FOUND.exec(printed) ?? [];
  // A copy that does not start is red for nothing.
  const isFound = code === 1 && schedules !== undefined;
  return { name: mutant.name, printed, ...(isFound && { found: { schedules: Number(schedules), seen } }) };
}
