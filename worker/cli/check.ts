import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { type Config, programPath, readProcessConfig, redisAddressOf } from '../../shared/config.ts';
import { createLogger } from '../../shared/log.ts';
import { PROJECT_ROOT } from '../../shared/project.ts';
import { connectRedis, type RedisClient, serversOf, untilReady } from '../../shared/redis.ts';
import { findRedisServer } from '../../shared/redis-server.ts';
import { shardsProblem } from '../../shared/shards.ts';
import { createTelegram, type WebhookInfo } from '../../shared/telegram.ts';
import { startMcp } from '../tools/mcp.ts';
import { type McpServer, readMcpConfig } from '../tools/mcp-config.ts';
import { type CliOutput, UsageError } from './output.ts';

const HELP = `Usage: npm run cli -- check [--json]

Reads the whole configuration and tries each connection that the gateway needs: Redis, Telegram, the model endpoint and
the servers of MCP_CONFIG, whose tools are counted; those that the model cannot be told of are named with the reason.
Sends no message, and starts nothing but the MCP servers that are programs, which it ends again.
Exit code 0 when all is well, 1 when a connection fails, 2 for configuration.`;

const REDIS_DEADLINE_MS = 5_000;
const TELEGRAM_DEADLINE_MS = 10_000;
const MODEL_DEADLINE_MS = 10_000;
/** A server that is fetched first, as npx does, takes its time. */
const TOOLS_DEADLINE_MS = 30_000;

interface Finding {
  part: string;
  ok: boolean;
  detail: string;
}

/** Checks the configuration and every connection. */
export async function check(args: string[], output: CliOutput): Promise<number> {
  const { values } = parseArgs({ args, options: { help: { type: 'boolean' }, json: { type: 'boolean' } } });
  if (values.help) {
    output.line(HELP);
    return 0;
  }
  const reading = readProcessConfig('gateway');
  if (!reading.ok) throw new UsageError(reading.problems.join('\n'));
  for (const warning of reading.warnings) output.note(`warning: ${warning}`);
  const { config } = reading;
  const servers = await readServers(config);
  const findings = (
    await Promise.all([checkRedis(config), checkTelegram(config), checkModel(config), checkTools(servers)])
  ).flat();
  if (values.json) output.line(JSON.stringify({ ok: findings.every(({ ok }) => ok), parts: findings }));
  else for (const { part, ok, detail } of findings) output.line(`${ok ? 'ok    ' : 'FAILED'} ${part}: ${detail}`);
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

async function checkRedis(config: Config): Promise<Finding> {
  const address = redisAddressOf(config);
  if (address === undefined) {
    const found = await findRedisServer({ root: PROJECT_ROOT, path: programPath() });
    return {
      part: 'redis',
      ok: found.ok,
      detail: found.ok ? `a private server will be started (${found.command})` : found.problem,
    };
  }
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    const problem = (await evictionProblem(redis)) ?? (await shardsProblem(redis, config.SHARDS));
    return { part: 'redis', ok: problem === undefined, detail: problem ?? answering(redis) };
  } catch (error) {
    return { part: 'redis', ok: false, detail: (error as Error).message };
  } finally {
    redis.disconnect();
  }
}

/** What is wrong with a server that throws data away when it is full; one that does not say is taken on trust. */
async function evictionProblem(redis: RedisClient): Promise<string | undefined> {
  const replies = await Promise.all(
    serversOf(redis).map((server) => server.config('GET', 'maxmemory-policy').catch(() => [])),
  );
  const evicting = (replies as string[][])
    .map(([, policy]) => policy)
    .find((policy) => policy && policy !== 'noeviction');
  return evicting && `maxmemory-policy is ${evicting}; set it to noeviction, or messages can be lost`;
}

function answering(redis: RedisClient): string {
  const masters = serversOf(redis).length;
  return masters === 1 ? 'answers' : `answers, a cluster of ${masters} masters`;
}

async function checkTelegram(config: Config): Promise<Finding> {
  const telegram = createTelegram({ token: config.TELEGRAM_BOT_TOKEN, apiRoot: config.TELEGRAM_API_ROOT });
  const me = await telegram.getMe();
  if (me.ok) {
    const webhook = await telegram.getWebhookInfo(AbortSignal.timeout(TELEGRAM_DEADLINE_MS));
    const receiving = receivingOf(config, webhook.ok ? webhook.value : undefined);
    return { part: 'telegram', ok: true, detail: `the bot is @${me.value.username}; ${receiving}` };
  }
  const { kind, description } = me.failure;
  const advice = kind === 'unauthorized' ? 'TELEGRAM_BOT_TOKEN is not accepted' : 'TELEGRAM_API_ROOT cannot be reached';
  return { part: 'telegram', ok: false, detail: `${advice} (${description})` };
}

/** How messages will come in, and what a start will change about that. */
function receivingOf({ TELEGRAM_WEBHOOK_URL: url }: Config, webhook: WebhookInfo | undefined): string {
  const isOther = webhook !== undefined && URL.parse(webhook.url)?.href !== url;
  if (url === undefined)
    return isOther ? 'it will be polled, and a webhook that is set will be removed' : 'it is polled';
  if (isOther) return 'the webhook is not set yet, a start will set it';
  if (webhook?.lastError === undefined || webhook.pending === 0) return 'messages come in by webhook';
  return `the webhook is set, but ${webhook.pending} messages could not be delivered (${webhook.lastError.description})`;
}

async function checkModel(config: Config): Promise<Finding> {
  const client = new Anthropic({
    apiKey: config.ANTHROPIC_API_KEY,
    baseURL: config.ANTHROPIC_BASE_URL,
    maxRetries: 0,
    logLevel: 'off',
  });
  try {
    const info = await client.models.retrieve(config.MODEL, {}, { timeout: MODEL_DEADLINE_MS });
    return {
      part: 'model',
      ok: true,
      detail: `${config.MODEL}, window ${info.max_input_tokens ?? 'not stated'} tokens`,
    };
  } catch (error) {
    const status = error instanceof Anthropic.APIError ? error.status : undefined;
    if (status === 404)
      return { part: 'model', ok: true, detail: `${config.MODEL}; the endpoint does not say what it is` };
    if (status === 401 || status === 403)
      return { part: 'model', ok: false, detail: 'ANTHROPIC_API_KEY is not accepted' };
    return {
      part: 'model',
      ok: false,
      detail: `ANTHROPIC_BASE_URL cannot be reached or answers with status ${status ?? 'none'}`,
    };
  }
}

/** The servers of MCP_CONFIG. Throws `UsageError` with all that is wrong with it. */
async function readServers({ MCP_CONFIG: file }: Config): Promise<readonly McpServer[]> {
  if (file === undefined) return [];
  const json = await readFile(file, 'utf8').catch(() => '');
  if (json.trim() === '') throw new UsageError('MCP_CONFIG names a file that is empty or cannot be read.');
  const reading = readMcpConfig(json);
  if (!reading.ok) throw new UsageError(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  return reading.servers;
}

/** A tool that is left out is no failure: the gateway goes on without it. */
async function checkTools(servers: readonly McpServer[]): Promise<Finding[]> {
  const log = createLogger('silent');
  const tools = await startMcp(servers, { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS, log });
  try {
    return tools.state().map(({ server, problem, tools: count, leftOut }) => {
      const named = leftOut.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
      const detail = `${count} tools${leftOut.length === 0 ? '' : `; ${leftOut.length} left out: ${named}`}`;
      return { part: `tools of ${server}`, ok: problem === undefined, detail: problem ?? detail };
    });
  } finally {
    await tools.stop();
  }
}
