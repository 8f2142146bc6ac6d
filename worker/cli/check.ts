import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Config } from '../../shared/base/config.ts';
import { createLogger } from '../../shared/base/log.ts';
import { fitPicture } from '../media/decoding.ts';
import { type McpServer, readMcpConfig } from '../tools/mcp/config.ts';
import { checkBlobs } from './check-blobs.ts';
import { checkLives, checkModel } from './check-model.ts';
import { checkRedis } from './check-redis.ts';
import { checkTelegram } from './check-telegram.ts';
import type { Finding } from './finding.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';

const HELP = `Usage: npm run cli -- check [--json]

Reads the whole configuration and tries each connection that the gateway needs: Redis (its role, its memory, whether it
takes writes, which of its settings are not the recommended ones), the blob store (whether it takes a file, and is the one that the data refers to), Telegram, the model endpoint (one call of a few tokens), how long each model lives that a setting names, the operator's chat (a typing action) and the servers of
MCP_CONFIG, whose tools are counted; those that the model cannot be told of are named with the reason. Says what a running
gateway noted: how its calls of the model, its polls and its alerts go, and since when.
Sends no message, and starts nothing but the MCP servers that are programs, which it ends again.
Exit code 0 when all is well, 1 when a connection fails, 2 for configuration.`;

/** A server that is downloaded first, as npx does, needs time. */
const TOOLS_DEADLINE_MS = 30_000;

/** Checks the configuration and every connection. */
export async function check(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { help: { type: 'boolean' }, json: { type: 'boolean' } } });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const { config, warnings } = usableConfig(terminal, 'gateway');
  for (const warning of warnings) terminal.note(`warning: ${warning}`);
  const servers = await readServers(config);
  const findings = (
    await Promise.all([
      checkRedis(config),
      checkBlobs(config),
      checkTelegram(config),
      checkModel(config),
      checkLives(config),
      checkTools(servers),
      checkDecoder(),
    ])
  ).flat();
  if (values.json) terminal.line(JSON.stringify({ ok: findings.every(({ ok }) => ok), parts: findings }));
  else for (const finding of findings) terminal.line(`${markOf(finding)} ${finding.part}: ${finding.detail}`);
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

/** Of the same width each. */
function markOf({ ok, isAdvice }: Finding): string {
  if (!ok) return 'FAILED';
  return isAdvice ? 'advice' : 'ok    ';
}

/** The servers of MCP_CONFIG. Throws `UsageError` with every problem in it. */
async function readServers({ MCP_CONFIG: file }: Config): Promise<readonly McpServer[]> {
  if (file === undefined) return [];
  const json = await readFile(file, 'utf8').catch(() => '');
  if (json.trim() === '') throw new UsageError('MCP_CONFIG names a file that is empty or cannot be read.');
  const reading = readMcpConfig(json);
  if (!reading.ok) throw new UsageError(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  return reading.servers;
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=', 'base64');

/** A running gateway starts the decoder with the first file; what is missing for it is reported here. */
async function checkDecoder(): Promise<Finding[]> {
  const read = await fitPicture(PIXEL).catch((error: Error) => ({ ok: false, why: error.message }) as const);
  if (read.ok) return [];
  return [{ part: 'pictures', ok: false, detail: `${read.why}; install the optional packages too` }];
}

/** An omitted tool is not a failure: the gateway runs without it. */
async function checkTools(servers: readonly McpServer[]): Promise<Finding[]> {
  if (servers.length === 0) return [];
  const { startMcp } = await import('../tools/mcp/client.ts');
  const log = createLogger('silent');
  const tools = await startMcp(servers, { limits: { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS }, log });
  try {
    return tools.state().map(({ server, problem, tools: count, omitted }) => {
      const named = omitted.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
      const detail = `${count} tools${omitted.length === 0 ? '' : `; ${omitted.length} left out: ${named}`}`;
      return { part: `tools of ${server}`, ok: problem === undefined, detail: problem ?? detail };
    });
  } finally {
    await tools.stop();
  }
}
