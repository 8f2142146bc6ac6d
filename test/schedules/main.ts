import type { Redis } from 'ioredis';
import { findRedis, Refusal, runTool, say } from '../tools/tool.ts';
import { onRedis } from './connection.ts';
import { type Exploration, explore, shrink } from './explore.ts';
import { FINDABLE } from './mutants.ts';
import { linesOf } from './report.ts';
import { surveyMutant } from './survey.ts';

const HELP = `Usage: npm run schedules [-- options]

Plays interleavings of the gateway's processes over a real Redis: the seed decides whose next effect happens, and which
one is cut, lost or doubted, or kills. A schedule that violates an invariant is printed with its steps and the faults
that it needs.

  --count N      how many schedules; default 20000
  --seed S       the first one's seed; default 1
  --until-red    end with the first that is red
  --mutant NAME  take a safeguard out of a copy of the product; --mutants takes them one after the other`;

const OPTIONS = {
  count: { type: 'string', default: '20000' },
  seed: { type: 'string', default: '1' },
  'until-red': { type: 'boolean', default: false },
  mutant: { type: 'string' },
  mutants: { type: 'boolean' },
} as const;

/** Which schedules are played. */
interface Choice {
  seed: number;
  count: number;
  untilRed: boolean;
}

const PROGRESS_EVERY_MS = 10_000;
/** Each mutant is found within this many schedules. */
const MUTANT_SCHEDULES = 20_000;

await runTool(HELP, OPTIONS, async (values) => {
  const [seed, count] = [Number(values.seed), Number(values.count)];
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) throw new Refusal('--seed and --count are numbers');
  const choice = { seed, count, untilRed: values['until-red'] };
  await findRedis();
  if (values.mutant !== undefined || values.mutants) return survey(values.mutant, choice);
  const explored = await onRedis((redis) => exploreAll(redis, choice));
  process.exitCode = explored.red === 0 ? 0 : 1;
});

async function exploreAll(redis: Redis, choice: Choice): Promise<Exploration> {
  let saidMs = Date.now();
  const onProgress = ({ played, red }: Exploration): void => {
    if (Date.now() - saidMs < PROGRESS_EVERY_MS) return;
    saidMs = Date.now();
    say(`${played} schedules, ${red} red`);
  };
  const explored = await explore(redis, { ...choice, onProgress });
  const shrunk = explored.firstRed && (await shrink(redis, explored.firstRed));
  for (const line of linesOf(explored, shrunk)) say(line);
  return explored;
}

/** Exits with 1 when a mutant is not found. */
async function survey(name: string | undefined, { seed, count }: Choice): Promise<void> {
  const chosen = FINDABLE.filter((mutant) => name === undefined || mutant.name === name);
  if (chosen.length === 0) throw new Refusal(['The mutants are:', ...FINDABLE.map((mutant) => mutant.name)].join('\n'));
  for (const mutant of chosen) {
    const { found, printed } = await surveyMutant(mutant, seed, Math.min(count, MUTANT_SCHEDULES));
    say(
      found ? `found after ${found.schedules} schedules: ${mutant.name}: ${found.seen}` : `NOT FOUND: ${mutant.name}`,
    );
    if (name !== undefined) say(printed);
    if (!found) process.exitCode = 1;
  }
}
