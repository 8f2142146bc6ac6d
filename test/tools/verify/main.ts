import { rmSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import type { FoundRedisServer } from '../../../shared/private-redis/install.ts';
import { findRedis, runTool, say } from '../tool.ts';
import { buildTools } from './build.ts';
import type { Checked } from './check.ts';
import { checkFiles } from './file-checks.ts';
import { findingsOf, notRunLines, summaryOf, type Verified } from './report.ts';
import { abandonRuns, runAll } from './run.ts';
import { findTools, foldersOf, type Tools } from './tool.ts';

const HELP = `Usage: npm run verify:telemetry [-- options]

Runs the telemetry stack for real: the collector, Prometheus, Jaeger and Alertmanager with this repository's own files,
and gateway processes that send to them. Plays a day of trouble with clocks that are twenty times faster, asks every
expression of every dashboard and rule, fetches traces back, and lets a scripted operator find five incidents. Only
loopback, about eight minutes. The programs are looked for in .cache/bin and on the PATH; what is missing is told.

  --build         builds what is missing with the Go toolchain into .cache/bin first (half an hour and more)
  --bin DIR       looks in this folder alone
  --only TEXT     only hours and incidents whose name contains it
  --skip-missing  a program that is missing is told, and is no failure

Exit codes: 0 all as it must be, 1 something differs or is missing, 2 a mistake in the call.`;

const OPTIONS = {
  build: { type: 'boolean' },
  bin: { type: 'string' },
  only: { type: 'string', default: '' },
  'skip-missing': { type: 'boolean' },
} as const;
const BIN = join(PROJECT_ROOT, '.cache', 'bin');
let work = '';

/** Ends what this process started, and removes what it wrote. */
function cleanUp(): void {
  abandonRuns();
  if (work !== '') rmSync(work, { recursive: true, force: true });
}

await runTool(
  HELP,
  OPTIONS,
  async (values) => {
    const server = await findRedis();
    if (values.build) await buildTools(BIN, say);
    const tools = findTools(values.bin === undefined ? foldersOf(BIN) : [resolve(values.bin)]);
    work = await mkdtemp(join(tmpdir(), 'spillway-verify-'));
    const verified = await play(server, tools, values.only);
    for (const line of notRunLines(verified)) say(line);
    for (const line of findingsOf(verified)) say(`DIFFERS  ${line}`);
    say(`\n${summaryOf(verified)}`);
    const lacks = notRunLines(verified).length > 0 && values['skip-missing'] !== true;
    process.exitCode = findingsOf(verified).length > 0 || lacks ? 1 : 0;
  },
  cleanUp,
);

async function play(server: FoundRedisServer, tools: Tools, only: string): Promise<Verified> {
  const files = await checkFiles(tools);
  for (const each of files) say(checkedLine(each));
  const runbook = await readFile(join(PROJECT_ROOT, 'docs', 'runbook.md'), 'utf8');
  const shown = await runAll({ server, tools, folder: work, runbook, only, say });
  for (const each of shown.checks) say(checkedLine(each));
  return { ...shown, tools, files };
}

function checkedLine({ verdict, name, seen }: Checked): string {
  return `${verdict.padEnd(8)} ${name}: ${seen}`;
}
