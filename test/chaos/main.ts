import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { programPath } from '../../shared/config.ts';
import { PROJECT_ROOT, refuse } from '../../shared/project.ts';
import { type FoundRedisServer, findRedisServer } from '../../shared/redis-server.ts';
import { SCENARIOS } from './catalogue.ts';
import { MUTANTS, surveyMutant } from './mutants.ts';
import { headLine, resultLine, violationLines } from './report.ts';
import { runScenario, type Scenario, unexplained } from './scenario.ts';
import { SOAK, soak, writeSoak } from './soak.ts';
import { abandonWorlds } from './world.ts';

const HELP = `Usage: npm run chaos [-- options]

Hurts the gateway in every way we know, and judges what users and the model saw. Only loopback, only processes that it
started itself. The seed decides what is written and what is done to whom; what the machine makes of it differs.

  --list         the scenarios
  --only a,b     only these
  --seed N       default: one that is told
  --minutes M    begins no scenario after M minutes
  --patience S   how long a backlog may take to drain after the last fault; default 60 seconds
  --soak         10,000 messages of 500 chats with random faults; the report is docs/evidence/chaos-soak.md
  --mutants      takes one safeguard after the other out of a copy of the product: each time the suite must go red`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    list: { type: 'boolean' },
    only: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    patience: { type: 'string' },
    mutants: { type: 'boolean' },
    soak: { type: 'boolean' },
  },
});

const LINE_CHARS = 200;
const patienceMs = Number(values.patience ?? 60) * 1_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// Whatever ends this process, nothing that it started may live on.
process.once('exit', abandonWorlds);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

if (values.help) say(HELP);
else if (values.list)
  for (const { name, about, known } of SCENARIOS) say(`${name.padEnd(26)} ${about}${knownAs(known)}`);
else await begin();

function knownAs(known: Scenario['known'] = []): string {
  return known.map(({ why }) => ` [known: ${why}]`).join('');
}

async function begin(): Promise<void> {
  const server = await findRedisServer({ root: PROJECT_ROOT, path: programPath() });
  if (!server.ok) return refuse([server.problem]);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const chosen = values.only?.split(',') ?? SCENARIOS.map(({ name }) => name);
  const unknown = chosen.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0 || !Number.isSafeInteger(seed)) return refuse([`Not known: ${unknown} ${values.seed ?? ''}`]);
  const minutes = Number(values.minutes ?? 60);
  if (values.mutants)
    return surveyAll(
      MUTANTS.filter(({ scenario }) => chosen.includes(scenario)),
      seed,
    );
  if (values.soak) return soakLong(server, seed);
  const holds = await runAll(
    server,
    SCENARIOS.filter(({ name }) => chosen.includes(name)),
    seed,
    Date.now() + minutes * 60_000,
  );
  process.exitCode = holds ? 0 : 1;
}

async function soakLong(server: FoundRedisServer, seed: number): Promise<void> {
  say(`seed ${seed}: ${SOAK.about}`);
  const soaked = await soak(server, seed, (sample) => say(JSON.stringify(sample)));
  const scenario = { ...SOAK, play: async () => {} };
  say(`${headLine()}\n${resultLine(soaked.result, scenario)}`);
  for (const { invariant, seen } of soaked.result.violations) say(`  ${invariant}, ${seen}`.slice(0, LINE_CHARS));
  say(`Written: ${relative(PROJECT_ROOT, await writeSoak(soaked))}`);
  process.exitCode = soaked.result.violations.length === 0 ? 0 : 1;
}

/** Each mutant must be caught. */
async function surveyAll(mutants: typeof MUTANTS, seed: number): Promise<void> {
  for (const mutant of mutants) {
    const { isCaught, printed } = await surveyMutant(mutant, seed);
    say(`${isCaught ? 'caught  ' : 'ESCAPED '} ${mutant.name} (${mutant.scenario})`);
    const lines = printed.split('\n').filter((line) => line.startsWith('  I'));
    for (const line of isCaught ? lines.slice(0, 1) : printed.split('\n')) say(`  ${line.slice(0, LINE_CHARS)}`);
    if (!isCaught) process.exitCode = 1;
  }
}

/** Runs one after the other; answers whether every invariant held, but for what is known. */
async function runAll(
  server: FoundRedisServer,
  scenarios: readonly Scenario[],
  seed: number,
  untilMs: number,
): Promise<boolean> {
  say(`seed ${seed}\n${headLine()}`);
  let holds = true;
  for (const scenario of scenarios) {
    if (Date.now() > untilMs) {
      say(`${scenario.name.padEnd(26)} not begun: the time is up`);
      continue;
    }
    const result = await runScenario(server, scenario, seed, patienceMs).catch((error: Error) => error);
    if (result instanceof Error) {
      // One that cannot be played says nothing about the product, and the others must still be.
      say(`${scenario.name.padEnd(26)} NOT PLAYED: ${result.message}`);
      holds = false;
      continue;
    }
    if (unexplained(result, scenario).length > 0) holds = false;
    say(resultLine(result, scenario));
    for (const line of violationLines(result, scenario)) say(line);
  }
  return holds;
}
