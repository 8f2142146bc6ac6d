import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT, refuse } from '../../shared/base/project.ts';
import { programPath } from '../../shared/base/settings.ts';
import { type FoundRedisServer, findRedisServer } from '../../shared/private-redis/install.ts';
import { buildTools } from './build.ts';
import { checkFiles } from './file-checks.ts';
import { pageOf } from './page.ts';
import { pictureOf } from './picture.ts';
import type { Band } from './plot.ts';
import { findingsOf, notRunLines, summaryOf, telemetryReport, type Verified } from './report.ts';
import { abandonRuns, type Run, runAll } from './run.ts';
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
  --report FILE   writes the result as Markdown (by default nothing), and its pictures into docs/images
  --page FILE     where the page with all panels goes; default .cache/telemetry.html

Exit codes: 0 all as it must be, 1 something differs or is missing, 2 a mistake in the call.`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    build: { type: 'boolean' },
    bin: { type: 'string' },
    only: { type: 'string' },
    'skip-missing': { type: 'boolean' },
    report: { type: 'string' },
    page: { type: 'string' },
  },
});
const BIN = join(PROJECT_ROOT, '.cache', 'bin');
const IMAGES = join(PROJECT_ROOT, 'docs', 'images');
const say = (line: string): void => void process.stdout.write(`${line}\n`);
let work = '';

// Whatever ends this process, nothing that it started may live on, and nothing that it wrote may stay.
// A signal comes twice where npm hands it on: the second must not end the clearing up.
process.once('exit', () => {
  abandonRuns();
  if (work !== '') rmSync(work, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

if (values.help) say(HELP);
else await verify();

async function verify(): Promise<void> {
  const server = await findRedisServer({ root: PROJECT_ROOT, path: programPath() });
  if (!server.ok) return refuse([server.problem]);
  if (values.build) await buildTools(BIN, say);
  const tools = findTools(values.bin === undefined ? foldersOf(BIN) : [resolve(values.bin)]);
  work = await mkdtemp(join(tmpdir(), 'spillway-verify-'));
  const run = await play(server, tools);
  for (const line of notRunLines(run.verified)) say(line);
  for (const line of findingsOf(run.verified)) say(`DIFFERS  ${line}`);
  say(`\n${summaryOf(run.verified)}`);
  await write(run);
  const lacks = notRunLines(run.verified).length > 0 && values['skip-missing'] !== true;
  process.exitCode = findingsOf(run.verified).length > 0 || lacks ? 1 : 0;
}

async function play(server: FoundRedisServer, tools: Tools): Promise<Run> {
  const startedMs = Date.now();
  const files = await checkFiles(tools);
  for (const { verdict, name, seen } of files) say(`${verdict.padEnd(8)} ${name}: ${seen}`);
  const runbook = await readFile(join(PROJECT_ROOT, 'docs', 'runbook.md'), 'utf8');
  const run = await runAll({ server, tools, folder: work, runbook, only: values.only ?? '', say });
  const verified: Verified = { ...run.verified, tools, files, startedMs, endedMs: Date.now() };
  return { ...run, verified };
}

async function write({ verified, span }: Run): Promise<void> {
  const bands: Band[] = verified.hours.map((hour, index) => ({ ...hour, number: index + 1 }));
  if (verified.panels.length > 0) {
    const page = resolve(values.page ?? join(PROJECT_ROOT, '.cache', 'telemetry.html'));
    const day = new Date(verified.startedMs).toISOString().slice(0, 10);
    const note = `Every panel over a day that was played in minutes on ${day}. The numbers are the hours below.`;
    const title = 'Spillway: the dashboards over a played day';
    await writeInto(page, pageOf({ title, note, panels: verified.panels, bands, span }));
    say(`Written: ${relative(process.cwd(), page)}`);
  }
  if (values.report === undefined) return;
  const report = resolve(values.report);
  if (verified.panels.length > 0)
    await writeInto(join(IMAGES, 'telemetry-day.svg'), pictureOf(verified.panels, span, bands));
  for (const { file, webp } of verified.pictures) await writeInto(join(IMAGES, file), webp);
  await writeInto(report, telemetryReport(verified, relative(dirname(report), IMAGES)));
  say(`Written: ${relative(process.cwd(), report)}`);
}

async function writeInto(file: string, text: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
