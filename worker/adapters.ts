import type { Root } from '../shared/app/process.ts';
import type { Config } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { GaugeReading } from '../shared/base/meters.ts';
import { METRIC } from '../shared/base/telemetry.ts';
import { type Alert, alertCommand } from '../shared/flow/alert.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { TOOL_SERVER_DOWN_MS, TOOL_SERVERS_EVERY_MS, watchToolServers } from './alerts/tool-servers.ts';
import { type Breaker, withBreaker } from './model/breaker.ts';
import { createClaude } from './model/claude/adapter.ts';
import { modelsInUse } from './model/lifecycle.ts';
import type { StatedWindow } from './model/limits.ts';
import { withMeasures } from './model/measured.ts';
import { readSettingFiles } from './setting-files.ts';
import type { McpServer } from './tools/mcp/config.ts';
import { NO_TOOLS, type Toolbox } from './tools/toolbox.ts';
import { withExclusions } from './tools/toolboxes.ts';
import { LIVES_EVERY_MS, watchModelLives } from './watch/model-lives.ts';
import { withProviderNotes } from './watch/provider.ts';
import { startWorker, type WorkerPorts } from './worker.ts';

/** Builds the worker's adapters from the config and starts it. Rejects when a file that it names cannot be read. */
export async function setUpWorker(root: Root, limits?: WorkerPorts['limits']) {
  const { config } = root;
  const { problems, servers, ...files } = await readSettingFiles(config);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const tools = withExclusions(await startTools(root, servers, limits?.toolServerDownMs ?? TOOL_SERVER_DOWN_MS));
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
  const measured = withMeasures(claude, root.telemetry, files.prices);
  const model = withBreaker(withProviderNotes(measured, notes, keysOf(0), root.log));
  const hidden = root.telemetry.observe([METRIC.breaker], async () => breakerGauges(model));
  const worker = await startWorker(
    {
      ...root,
      observability: root,
      model,
      files,
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

/** The tools of the servers that MCP_CONFIG lists. */
async function startTools(
  { config, redisAddress, log }: Root,
  servers: readonly McpServer[],
  toolServerDownMs: number,
): Promise<Toolbox & Service> {
  if (servers.length === 0) return NO_TOOLS;
  const { startConfinedMcp } = await import('./tools/mcp/client.ts');
  const redis = connectRedis(redisAddress, 'patient');
  const queue = async (alert: Alert): Promise<void> => void (await redis.call(...alertCommand(keysOf(0), alert)));
  const tools = await startConfinedMcp(config, servers, { limits: { timeoutMs: config.TOOL_TIMEOUT_MS }, log });
  const open = tools.state().flatMap(({ server, unconfined: why }) => (why === undefined ? [] : [{ server, why }]));
  if (open.length > 0)
    log.warn({ servers: open }, 'tool servers are not sandboxed: they can read what this process can');
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
