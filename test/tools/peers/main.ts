import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findRedis, Refusal, runTool, say } from '../tool.ts';
import { BELIEF_CHECKS } from './belief-checks.ts';
import { bringLiteLlm, bringMcpServers } from './bring.ts';
import { CHAT_CHECKS } from './chat-checks.ts';
import { type Check, type Checked, runCheck } from './check.ts';
import { ERROR_CHECKS } from './error-checks.ts';
import { createGround, type Ground, type Software } from './ground.ts';
import { lineOf, type PeersRun, peersReport, summaryOf } from './report.ts';
import { TOOL_CHECKS } from './tool-checks.ts';
import { TROUBLE_CHECKS } from './trouble-checks.ts';

const HELP = `Usage: npm run verify:peers [-- options]

Runs the real gateway with software that nobody here wrote: a LiteLLM proxy between it and the stand-in of Claude, and the
reference MCP servers. Brings them from the public registries, at pinned versions, into a temporary folder (about a
minute, 800 MB); everything else stays on loopback. Takes about three minutes after that.

  --report FILE    writes the result as Markdown, too
  --folder DIR     brings the software there and leaves it, for the next time
  --only TEXT      only checks whose name contains it
  --skip-missing   software that cannot be brought is told, and is no failure

Exit codes: 0 all as it must be, 1 something differs or could not be brought, 2 a mistake in the call.`;

const CHECKS: readonly Check[] = [...CHAT_CHECKS, ...TOOL_CHECKS, ...ERROR_CHECKS, ...BELIEF_CHECKS, ...TROUBLE_CHECKS];

const OPTIONS = {
  report: { type: 'string' },
  folder: { type: 'string' },
  only: { type: 'string', default: '' },
  'skip-missing': { type: 'boolean', default: false },
} as const;
const ended = new AbortController();
let ground: Ground | undefined;
let work = '';

/** Ends what this process started, and removes what it brought. */
function cleanUp(): void {
  ended.abort();
  ground?.abandon();
  if (work !== '') rmSync(work, { recursive: true, force: true });
}

await runTool(HELP, OPTIONS, verify, cleanUp);

async function verify(values: {
  report?: string;
  folder?: string;
  only: string;
  'skip-missing': boolean;
}): Promise<void> {
  const checks = CHECKS.filter(({ name }) => name.includes(values.only));
  if (checks.length === 0) throw new Refusal(`No check is called like ${values.only}.`);
  await findRedis();
  work = await mkdtemp(join(tmpdir(), 'spillway-peers-'));
  try {
    const home = values.folder === undefined ? work : resolve(values.folder);
    const { software, missing } = await bring(home);
    const run = await play(checks, software, missing, join(work, 'run'));
    conclude(run, values['skip-missing']);
    if (values.report !== undefined) await writeFile(values.report, peersReport(run));
  } finally {
    await ground?.close();
    ground = undefined;
  }
}

async function bring(home: string): Promise<{ software: Software; missing: string[] }> {
  say('Bringing LiteLLM and the MCP servers ...');
  const [litellm, mcp] = await Promise.all([bringLiteLlm(home, ended.signal), bringMcpServers(home, ended.signal)]);
  const missing = [litellm, mcp].flatMap((brought) => (brought.ok ? [] : [brought.problem]));
  for (const problem of missing) say(problem);
  return {
    software: { litellm: litellm.ok ? litellm.folder : undefined, mcp: mcp.ok ? mcp.folder : undefined },
    missing,
  };
}

async function play(
  checks: readonly Check[],
  software: Software,
  missing: string[],
  folder: string,
): Promise<PeersRun> {
  const startedMs = Date.now();
  ground = await createGround(software, folder);
  const checked: Checked[] = [];
  for (const check of checks) {
    checked.push(await runCheck(check, ground));
    say(lineOf(checked.at(-1) as Checked));
  }
  return { checked, missing, startedMs, endedMs: Date.now() };
}

function conclude(run: PeersRun, mayLack: boolean): void {
  say(`\n${summaryOf(run)}`);
  const differs = run.checked.some(({ verdict }) => verdict === 'DIFFERS');
  const lacks = run.missing.length > 0 && !mayLack;
  process.exitCode = differs || lacks ? 1 : 0;
}
