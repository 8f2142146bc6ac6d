import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import type { Redis } from 'ioredis';
import { PROJECT_ROOT, refuse } from '../../shared/base/project.ts';
import { programPath } from '../../shared/base/settings.ts';
import { findRedisServer } from '../../shared/private-redis/install.ts';
import { offerRedisServer } from '../fixture/redis.ts';
import { onRedis } from './connection.ts';
import { type Exploration, explore, shrink } from './explore.ts';
import { FINDABLE } from './mutants.ts';
import { linesOf, writeReport } from './report.ts';
import { type Survey, surveyMutant } from './survey.ts';

const HELP = `Usage: npm run schedules [-- options]

Plays interleavings of the gateway's processes over a real Redis: the seed decides whose next effect happens, and which
one is cut, lost or doubted, or kills. A schedule that violates an invariant is printed with its steps and the faults
that it needs.

  --count N      how many schedules; default 20000
  --seed S       the first one's seed; default 1
  --until-red    end with the first that is red
  --mutant NAME  take a safeguard out of a copy of the product; --mutants takes them one after the other
  --report       try every mutant too, and write docs/evidence/schedules.md`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    count: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    'until-red': { type: 'boolean', default: false },
    mutant: { type: 'string' },
    mutants: { type: 'boolean' },
    report: { type: 'boolean' },
  },
});

const PROGRESS_EVERY_MS = 10_000;
/** Each mutant is found within this many schedules. */
const MUTANT_SCHEDULES = 20_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const [seed, count] = [Number(values.seed), Number(values.count)];

if (values.help) say(HELP);
else if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) refuse(['--seed and --count are numbers']);
else await begin();

async function begin(): Promise<void> {
  const server = await findRedisServer({ root: PROJECT_ROOT, path: programPath() });
  if (!server.ok) return refuse([server.problem]);
  offerRedisServer(server);
  if (values.mutant !== undefined || values.mutants) return survey(values.mutant);
  const startedMs = Date.now();
  const explored = await onRedis(exploreAll);
  process.exitCode = explored.red === 0 ? 0 : 1;
  if (!values.report) return;
  const took = { startedMs, endedMs: Date.now() };
  const surveys: Survey[] = [];
  for (const mutant of FINDABLE) surveys.push(await surveyMutant(mutant, seed, MUTANT_SCHEDULES));
  say(`Written: ${relative(PROJECT_ROOT, await writeReport(explored, surveys, took, server))}`);
}

async function exploreAll(redis: Redis): Promise<Exploration> {
  let saidMs = Date.now();
  const onProgress = ({ played, red }: Exploration): void => {
    if (Date.now() - saidMs < PROGRESS_EVERY_MS) return;
    saidMs = Date.now();
    say(`${played} schedules, ${red} red`);
  };
  const explored = await explore(redis, { seed, count, untilRed: values['until-red'], onProgress });
  const shrunk = explored.firstRed && (await shrink(redis, explored.firstRed));
  for (const line of linesOf(explored, shrunk)) say(line);
  return explored;
}

/** Exits with 1 when a mutant is not found. */
async function survey(name: string | undefined): Promise<void> {
  const chosen = FINDABLE.filter((mutant) => name === undefined || mutant.name === name);
  if (chosen.length === 0) return refuse([`The mutants are:`, ...FINDABLE.map((mutant) => mutant.name)]);
  for (const mutant of chosen) {
    const { found, printed } = await surveyMutant(mutant, seed, Math.min(count, MUTANT_SCHEDULES));
    say(
      found ? `found after ${found.schedules} schedules: ${mutant.name}: ${found.seen}` : `NOT FOUND: ${mutant.name}`,
    );
    if (name !== undefined) say(printed);
    if (!found) process.exitCode = 1;
  }
}
