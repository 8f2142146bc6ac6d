import { relative } from 'node:path';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { findRedis, Refusal, runTool, say, type Values } from '../tools/tool.ts';
import { SCENARIOS } from './catalogue.ts';
import { MUTANTS } from './mutants.ts';
import { headLine, resultLine } from './report.ts';
import { SOAK, soak } from './soak.ts';
import { writeSoak } from './soak-report.ts';
import { holds, playAll, surveyAll } from './suite.ts';
import { groundOf, writeSuite } from './suite-report.ts';
import { abandonWorlds } from './world.ts';

const HELP = `Usage: npm run chaos [-- options]

Hurts the gateway in every way we know, and judges what users and the model saw. Only loopback, only processes that it
started itself. The seed decides what is written and what is done to whom; what the machine makes of it differs.
Without options it plays every scenario, then tries every mutant, and writes .cache/chaos-suite.md.

  --list         the scenarios
  --only a,b     only these
  --seed N       default: one that is told
  --minutes M    begins no scenario after M minutes
  --patience S   how long a backlog may take to drain after the last fault; default 60 seconds
  --soak         10,000 messages of 500 chats with random faults; the report is .cache/chaos-soak.md
  --mutants      the mutants alone: takes one safeguard after the other out of a copy of the product: each time the suite must go red`;

const OPTIONS = {
  list: { type: 'boolean' },
  only: { type: 'string' },
  seed: { type: 'string' },
  minutes: { type: 'string' },
  patience: { type: 'string' },
  mutants: { type: 'boolean' },
  soak: { type: 'boolean' },
} as const;

const LINE_CHARS = 200;

await runTool(
  HELP,
  OPTIONS,
  async (values) => {
    if (!values.list) return begin(values);
    for (const { name, about } of SCENARIOS) say(`${name.padEnd(26)} ${about}`);
  },
  abandonWorlds,
);

async function begin(values: Values<typeof OPTIONS>): Promise<void> {
  const server = await findRedis();
  const patienceMs = Number(values.patience ?? 60) * 1_000;
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
  const chosen = values.only?.split(',') ?? SCENARIOS.map(({ name }) => name);
  const unknown = chosen.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0 || !Number.isSafeInteger(seed))
    throw new Refusal(`Not known: ${unknown} ${values.seed ?? ''}`);
  if (values.soak) return soakLong(server, seed);
  const isPart = values.only !== undefined || values.minutes !== undefined;
  const startedMs = Date.now();
  const played = values.mutants
    ? []
    : await playAll(
        server,
        SCENARIOS.filter(({ name }) => chosen.includes(name)),
        { seed, untilMs: startedMs + Number(values.minutes ?? Number.POSITIVE_INFINITY) * 60_000, patienceMs, say },
      );
  const mutants = values.mutants || !isPart ? MUTANTS.filter(({ scenario }) => chosen.includes(scenario)) : [];
  const surveys = await surveyAll(mutants, seed, say);
  process.exitCode = played.every(holds) && surveys.every(({ isCaught }) => isCaught) ? 0 : 1;
  if (isPart || values.mutants) return;
  const suite = { seed, startedMs, endedMs: Date.now(), played, surveys };
  say(`Written: ${relative(PROJECT_ROOT, await writeSuite(suite, await groundOf(server)))}`);
}

async function soakLong(server: FoundRedisServer, seed: number): Promise<void> {
  say(`seed ${seed}: ${SOAK.about}`);
  const soaked = await soak(server, seed, (sample) => say(JSON.stringify(sample)));
  say(`${headLine()}\n${resultLine(soaked.result)}`);
  for (const { invariant, seen } of soaked.result.violations) say(`  ${invariant}, ${seen}`.slice(0, LINE_CHARS));
  for (const what of soaked.grown) say(`  grown: ${what}`);
  say(`Written: ${relative(PROJECT_ROOT, await writeSoak(soaked))}`);
  process.exitCode = soaked.result.violations.length === 0 && soaked.grown.length === 0 ? 0 : 1;
}
