import { readFile } from 'node:fs/promises';
import type { Root } from '../shared/app/process.ts';
import type { Config } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { GaugeReading } from '../shared/base/meters.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { type Alert, alertCommand } from '../shared/flow/alert.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { omittedToolsAlert } from './alerts/messages.ts';
import { TOOL_SERVER_DOWN_MS, TOOL_SERVERS_EVERY_MS, watchToolServers } from './alerts/tool-servers.ts';
import { HEADER_NOTE } from './ask/header.ts';
import { type Breaker, withBreaker } from './model/breaker.ts';
import { createClaude } from './model/claude/adapter.ts';
import { modelsInUse } from './model/lifecycle.ts';
import type { StatedWindow } from './model/limits.ts';
import { withMeasures } from './model/measured.ts';
import { loadPrices } from './model/price-file.ts';
import { withExclusions } from './tools/exclusion.ts';
import { readMcpConfig } from './tools/mcp/config.ts';
import { NO_TOOLS, type Toolbox } from './tools/toolbox.ts';
import { LIVES_EVERY_MS, watchModelLives } from './watch/model-lives.ts';
import { withProviderNotes } from './watch/provider.ts';
import { startWorker, type WorkerPorts } from './worker.ts';

const SYSTEM_PROMPT =
  "You are a helpful assistant in a Telegram chat. Answer in the user's language, briefly and to the point. Markdown is shown as formatted text: use it where it helps, tables and code blocks included.";

/** Builds the worker's adapters from the config and starts it. Rejects when a file that it names cannot be read. */
export async function setUpWorker(root: Root, limits?: WorkerPorts['limits']) {
  const { config } = root;
  const prompt = (await readText('SYSTEM_PROMPT_FILE', config.SYSTEM_PROMPT_FILE)) ?? SYSTEM_PROMPT;
  const preserve = (await readText('COMPACTION_PRESERVE_FILE', config.COMPACTION_PRESERVE_FILE)) ?? '';
  const prices = await loadPrices(config.MODEL_PRICES_FILE);
  const tools = withExclusions(await startTools(root, limits?.toolServerDownMs ?? TOOL_SERVER_DOWN_MS));
  // Connected only when every file could be read: nobody would close the connection of a start that failed.
  const notes = connectRedis(root.redisAddress, 'impatient');
  const claude = createClaude({
    apiKey: config.ANTHROPIC_API_KEY,
    baseURL: config.ANTHROPIC_BASE_URL,
    isTraced: root.telemetry.isExporting,
    statedWindow: statedWindow(config),
    idleMs: config.MODEL_IDLE_TIMEOUT_MS,
    ...(limits?.summaryIdleMs !== undefined && { summaryIdleMs: limits.summaryIdleMs }),
    reach: root.reach,
  });
  const measured = withMeasures(claude, root.telemetry, prices);
  const model = withBreaker(withProviderNotes(measured, notes, keysOf(0), root.log));
  const hidden = root.telemetry.observe([METRIC.breaker], async () => breakerGauges(model));
  const worker = await startWorker(
    {
      ...root,
      instruments: root,
      model,
      files: { systemPrompt: `${prompt}\n\n${HEADER_NOTE}`, preserve, prices },
      tools,
      ...(limits && { limits }),
    },
    root.processName,
  );
  const lives = watchModelLives({
    redis: notes,
    keys: keysOf(0),
    ask: claude.lifecycle,
    models: modelsInUse(config),
    everyMs: limits?.modelLivesEveryMs ?? LIVES_EVERY_MS,
    log: root.log,
  });
  const seen = await startConsole(root);
  return {
    ...worker,
    routes: seen?.routes ?? [],
    async stop() {
      await seen?.stop();
      await lives.stop();
      await worker.stop();
      hidden();
      notes.disconnect();
    },
  };
}

function breakerGauges({ open }: Breaker): GaugeReading[] {
  return [...open()].map(([model, isOpen]) => ({
    metric: METRIC.breaker,
    value: isOpen ? 1 : 0,
    attributes: { model },
  }));
}

/** The operator's console, where there is a token for it. */
async function startConsole({ config, redisAddress, log }: Root) {
  const { OPERATOR_TOKEN: token } = config;
  if (token === undefined) return undefined;
  const console = await import('./console/console.ts');
  return console.startConsole({ config, token, redisAddress, log });
}

/** CONTEXT_WINDOW_TOKENS applies to MODEL alone: the other models have windows of their own. */
function statedWindow({ MODEL, CONTEXT_WINDOW_TOKENS }: Config): StatedWindow | undefined {
  return CONTEXT_WINDOW_TOKENS === undefined ? undefined : { model: MODEL, tokens: CONTEXT_WINDOW_TOKENS };
}

/** The tools of the servers that MCP_CONFIG lists. Rejects with every problem of that file at once. */
async function startTools({ config, redisAddress, log }: Root, toolServerDownMs: number): Promise<Toolbox & Service> {
  const json = await readText('MCP_CONFIG', config.MCP_CONFIG);
  const reading = readMcpConfig(json ?? '{"mcpServers":{}}');
  if (!reading.ok) throw new Error(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  if (reading.servers.length === 0) return NO_TOOLS;
  const { startMcp } = await import('./tools/mcp/client.ts');
  const redis = connectRedis(redisAddress, 'patient');
  const queue = async (alert: Alert): Promise<void> => void (await redis.call(...alertCommand(keysOf(0), alert)));
  const tools = await startMcp(reading.servers, {
    limits: { timeoutMs: config.TOOL_TIMEOUT_MS },
    log,
    // If this process ends first, the next start queues it again; an incident is notified once.
    onOmitted: (server, omitted) => {
      queue(omittedToolsAlert(server, omitted)).catch((err: unknown) =>
        log.warn({ err, server }, 'the operator could not be told of tools that are left out'),
      );
    },
  });
  const watch = watchToolServers({
    state: tools.state,
    queue,
    log,
    everyMs: TOOL_SERVERS_EVERY_MS,
    downMs: toolServerDownMs,
  });
  return {
    ...tools,
    async stop() {
      await watch.stop();
      await tools.stop();
      redis.disconnect();
    },
  };
}

/**
 * The text of a file that a setting names. Rejects when it is empty or cannot be read: a typo must not go unnoticed.
 */
async function readText(setting: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text === '') throw new Error(`${setting} names a file that is empty or cannot be read.`);
  return text;
}
