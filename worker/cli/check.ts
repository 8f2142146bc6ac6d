import { parseArgs } from 'node:util';
import type { Config } from '../../shared/base/config.ts';
import { createLogger } from '../../shared/base/log.ts';
import { fitPicture } from '../media/decoding.ts';
import { judgeSettingFiles, type SettingFiles } from '../setting-files.ts';
import { checkBlobs } from './check-blobs.ts';
import { askWindow, checkLives, checkModel, checkRoom, type StatedWindow } from './check-model.ts';
import { checkMoney } from './check-money.ts';
import { checkPort } from './check-port.ts';
import { checkRedis, reachRedis } from './check-redis.ts';
import { checkTelegram } from './check-telegram.ts';
import { checkWatchers } from './check-watchers.ts';
import type { Finding } from './finding.ts';
import { type Terminal, UsageError } from './terminal.ts';

const HELP = `Usage: npm run cli -- check [--json]

Reads the whole configuration, the files that it names and the names in .env, and tries what a start and a first message
need: Redis (its data's number of shards, its role, its memory, whether it
takes writes, which of its settings are not the recommended ones), the blob store (whether it takes a file, and is the one that the data refers to), Telegram, the model endpoint (one call of a few tokens), how long each model lives that a setting names, what limits the cost, the operator's chat (a typing action), the port of HTTP_PORT, the servers of
MCP_CONFIG, whose tools are counted (those that the model cannot be told of are named with the reason), and whether the
system prompt and the tools leave room for a message. All that is wrong is said in one run. Says what a running
gateway noted: how its calls of the model, its polls and its alerts go, and since when.
Sends no message, and starts nothing but the MCP servers that are programs, and a private Redis that has data and does not
run; it ends them again. Advice fails nothing.
Exit code 0 when all is well, 1 when something that was tried fails, 2 for configuration.`;

/** A server that is downloaded first, as npx does, needs time. */
const TOOLS_DEADLINE_MS = 30_000;
const SECRETS = '.env and its keys, the conversations in Redis and all files included';

/** Checks the configuration and every connection. */
export async function check(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { help: { type: 'boolean' }, json: { type: 'boolean' } } });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const reading = terminal.readConfig('gateway');
  const files = await judgeSettingFiles(reading);
  const { problems } = files;
  if (!reading.ok) throw new UsageError([...reading.problems, ...problems].join('\n'));
  const findings = await tryAll(reading.config, files);
  if (values.json) {
    const settings = [...problems.map(wrong), ...reading.warnings.map(odd)];
    const ok = problems.length === 0 && findings.every((finding) => finding.ok);
    terminal.line(JSON.stringify({ ok, parts: [...settings, ...findings] }));
  } else {
    for (const warning of reading.warnings) terminal.note(`warning: ${warning}`);
    for (const problem of problems) terminal.note(problem);
    for (const finding of findings) terminal.line(`${markOf(finding)} ${finding.part}: ${finding.detail}`);
  }
  if (problems.length > 0) return WRONG_SETTINGS;
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

const WRONG_SETTINGS = 2;
const wrong = (detail: string): Finding => ({ part: 'settings', ok: false, detail });
const odd = (detail: string): Finding => ({ part: 'settings', ok: true, isAdvice: true, detail });

/** Tries everything that a start and a first message need. */
async function tryAll(config: Config, files: SettingFiles): Promise<Finding[]> {
  const redis = await reachRedis(config);
  const stated = askWindow(config);
  try {
    const all = await Promise.all([
      checkRedis(config, redis),
      checkBlobs(config, redis),
      checkTelegram(config),
      checkModel(config, stated),
      checkLives(config),
      checkTools(config, files, stated),
      checkDecoder(),
      checkPort(config, redis),
      checkMoney(config, files.prices),
      checkWatchers(config),
    ]);
    return all.flat();
  } finally {
    await redis.stop();
  }
}

/** Of the same width each. */
function markOf({ ok, isAdvice }: Finding): string {
  if (!ok) return 'FAILED';
  return isAdvice ? 'advice' : 'ok    ';
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=', 'base64');

/** A running gateway starts the decoder with the first file; what is missing for it is reported here. */
async function checkDecoder(): Promise<Finding[]> {
  const read = await fitPicture(PIXEL).catch((error: Error) => ({ ok: false, why: error.message }) as const);
  if (read.ok) return [];
  return [{ part: 'pictures', ok: false, detail: `${read.why}; install the optional packages too` }];
}

/**
 * Starts the tool servers, and says whether a first message fits beside what every request holds with their tools. An
 * omitted tool is not a failure: the gateway runs without it.
 */
async function checkTools(
  config: Config,
  { servers, systemPrompt: system }: SettingFiles,
  stated: Promise<StatedWindow>,
): Promise<Finding[]> {
  if (servers.length === 0) return [await checkRoom(config, { system, tools: [] }, stated)];
  const { startConfinedMcp } = await import('../tools/mcp/client.ts');
  const log = createLogger('silent');
  const limits = { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS };
  const tools = await startConfinedMcp(config, servers, { limits, log });
  try {
    const findings = tools.state().map(({ server, problem, unconfined: why, tools: count, omitted }) => {
      const named = omitted.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
      const detail = `${count} tools${omitted.length === 0 ? '' : `; ${omitted.length} left out: ${named}`}`;
      const open = why === undefined ? '' : `; NOT sandboxed (${why}): it can read what the gateway can, ${SECRETS}`;
      const found = { part: `tools of ${server}`, ok: problem === undefined, detail: `${problem ?? detail}${open}` };
      return why === undefined ? found : { ...found, isAdvice: true };
    });
    return [...findings, await checkRoom(config, { system, tools: tools.specs() }, stated)];
  } finally {
    await tools.stop();
  }
}
