import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findRedis, Refusal, runTool, say, type Values } from '../tool.ts';
import type { Checked } from '../verify/check.ts';
import { BELIEF_CHECKS } from './belief-checks.ts';
import { bringLiteLlm, bringMcpServers } from './bring.ts';
import { CHAT_CHECKS } from './chat-checks.ts';
import { needing, type PlannedCheck, runCheck } from './check.ts';
import { ERROR_CHECKS } from './error-checks.ts';
import { createGround, type Ground, type Software } from './ground.ts';
import { TOOL_CHECKS } from './tool-checks.ts';
import { TROUBLE_CHECKS } from './trouble-checks.ts';

const HELP = `Usage: npm run verify:peers [-- options]

Runs the real gateway with software that nobody here wrote: a LiteLLM proxy between it and the stand-in of Claude, and the
reference MCP servers. Brings them from the public registries, at pinned versions, into a temporary folder (about a
minute, 800 MB); everything else stays on loopback. Takes about three minutes after that.

  --folder DIR     brings the software there and leaves it, for the next time
  --only TEXT      only checks whose name contains it
  --skip-missing   software that cannot be brought is told, and is no failure

Exit codes: 0 all as it must be, 1 something differs or could not be brought, 2 a mistake in the call.`;

const CHECKS: readonly PlannedCheck[] = [
  ...needing('LiteLLM', CHAT_CHECKS),
  ...needing('MCP servers', TOOL_CHECKS),
  ...needing('LiteLLM', [...ERROR_CHECKS, ...BELIEF_CHECKS, ...TROUBLE_CHECKS]),
];

const OPTIONS = {
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

async function verify(values: Values<typeof OPTIONS>): Promise<void> {
  const checks = CHECKS.filter(({ name }) => name.includes(values.only));
  if (checks.length === 0) throw new Refusal(`No check is called like ${values.only}.`);
  await findRedis();
  work = await mkdtemp(join(tmpdir(), 'spillway-peers-'));
  try {
    const home = values.folder === undefined ? work : resolve(values.folder);
    const { software, missing } = await bring(home);
    const checked = await play(checks, software, join(work, 'run'));
    conclude(checked, missing.length > 0 && !values['skip-missing']);
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

async function play(checks: readonly PlannedCheck[], software: Software, folder: string): Promise<Checked[]> {
  ground = await createGround(software, folder);
  const all: Checked[] = [];
  for (const check of checks) {
    const checked = await runCheck(check, ground);
    say(`${checked.verdict.padEnd(8)} ${checked.name}\n         ${checked.seen}`);
    all.push(checked);
  }
  return all;
}

function conclude(checked: readonly Checked[], lacksSoftware: boolean): void {
  const count = (verdict: Checked['verdict']): number => checked.filter((each) => each.verdict === verdict).length;
  const [ok, differ, notRun] = [count('ok'), count('DIFFERS'), count('not run')];
  say(`\n${ok} of ${checked.length} checks hold, ${differ} differ, ${notRun} were not run.`);
  process.exitCode = differ > 0 || lacksSoftware ? 1 : 0;
}
