import { parseArgs } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { type Config, programPath, readProcessConfig } from '../../shared/config.ts';
import { PROJECT_ROOT } from '../../shared/project.ts';
import { connectRedis, untilReady } from '../../shared/redis.ts';
import { findRedisServer } from '../../shared/redis-server.ts';
import { createTelegram } from '../../shared/telegram.ts';
import { type CliOutput, UsageError } from './output.ts';

const HELP = `Usage: npm run cli -- check [--json]

Reads the whole configuration and tries each connection that the gateway needs: Redis, Telegram, the model endpoint.
Starts nothing and sends no message. Exit code 0 when all is well, 1 when a connection fails, 2 for configuration.`;

const REDIS_DEADLINE_MS = 5_000;
const MODEL_DEADLINE_MS = 10_000;

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
  const findings = await Promise.all([checkRedis(config), checkTelegram(config), checkModel(config)]);
  if (values.json) output.line(JSON.stringify({ ok: findings.every(({ ok }) => ok), parts: findings }));
  else for (const { part, ok, detail } of findings) output.line(`${ok ? 'ok    ' : 'FAILED'} ${part}: ${detail}`);
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

async function checkRedis({ REDIS_URL }: Config): Promise<Finding> {
  if (REDIS_URL === undefined) {
    const found = await findRedisServer({ root: PROJECT_ROOT, path: programPath() });
    return {
      part: 'redis',
      ok: found.ok,
      detail: found.ok ? `a private server will be started (${found.command})` : found.problem,
    };
  }
  const redis = connectRedis(REDIS_URL, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    const policy = (await redis.config('GET', 'maxmemory-policy').catch(() => [])) as string[];
    const evicts = policy[1] !== undefined && policy[1] !== 'noeviction';
    return {
      part: 'redis',
      ok: !evicts,
      detail: evicts ? `maxmemory-policy is ${policy[1]}; set it to noeviction, or messages can be lost` : 'answers',
    };
  } catch (error) {
    return { part: 'redis', ok: false, detail: (error as Error).message };
  } finally {
    redis.disconnect();
  }
}

async function checkTelegram(config: Config): Promise<Finding> {
  const me = await createTelegram({ token: config.TELEGRAM_BOT_TOKEN, apiRoot: config.TELEGRAM_API_ROOT }).getMe();
  if (me.ok) return { part: 'telegram', ok: true, detail: `the bot is @${me.value.username}` };
  const { kind, description } = me.failure;
  const advice = kind === 'unauthorized' ? 'TELEGRAM_BOT_TOKEN is not accepted' : 'TELEGRAM_API_ROOT cannot be reached';
  return { part: 'telegram', ok: false, detail: `${advice} (${description})` };
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
