import type { Root } from '../shared/app/process.ts';
import { type Service, stopAll } from '../shared/base/lifecycle.ts';
import type { Alert } from '../shared/flow/alert.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { queueAlert } from '../shared/state/incident/book.ts';
import { watchToolServers } from './alerts/tool-servers.ts';
import { openEndpoint } from './endpoint.ts';
import { FEATURES } from './features.ts';
import { LIMITS, type Limits } from './limits.ts';
import { priceProblem, readSettingFiles, type SettingFiles } from './settings.ts';
import { NO_TOOLS, type Toolbox } from './tools/toolbox.ts';
import { withExclusions } from './tools/toolboxes.ts';
import { startWorker } from './worker.ts';

/** Builds the worker's adapters from the settings and starts it. Rejects when a file that they name cannot be read. */
export async function setUpWorker(root: Root, shorter: Partial<Limits> = {}) {
  const { settings } = root;
  const limits = { ...LIMITS, ...shorter };
  const { problems, servers, ...files } = await readSettingFiles(settings, settings.MODELS);
  const price = priceProblem(settings, files);
  const all = [...problems, ...(price === undefined ? [] : [price])];
  if (all.length > 0) throw new Error(all.join('\n'));
  const tools = withExclusions(await startTools(root, servers, limits));
  // Connected only when every file could be read: nobody would close the connection of a start that failed.
  const endpoint = openEndpoint(root, files.prices, limits);
  const worker = await startWorker(root, { model: endpoint.model, files, tools, limits });
  const pages = (await Promise.all(FEATURES.map((each) => each.serve?.(root)))).filter((each) => each !== undefined);
  return {
    ...worker,
    routes: pages.flatMap(({ routes }) => routes),
    async stop() {
      await stopAll(pages, root.log);
      await worker.stop();
      await endpoint.stop();
    },
  };
}

/** The tools of the servers that MCP_CONFIG lists. */
async function startTools(
  { settings, redisAddress, log }: Root,
  servers: SettingFiles['servers'],
  limits: Limits,
): Promise<Toolbox & Service> {
  if (servers.length === 0) return NO_TOOLS;
  const { startConfinedMcp } = await import('./tools/mcp/client.ts');
  const redis = connectRedis(redisAddress, 'patient');
  const queue = async (alert: Alert): Promise<void> => queueAlert(redis, keysOf(0), alert);
  const tools = await startConfinedMcp(settings, servers, { timeoutMs: settings.TOOL_TIMEOUT_MS }, log);
  const open = tools.state().flatMap(({ server, unconfined: why }) => (why === undefined ? [] : [{ server, why }]));
  if (open.length > 0)
    log.warn({ servers: open }, 'tool servers are not sandboxed: they can read what this process can');
  const watch = watchToolServers({ state: tools.state, queue, log, limits });
  return {
    ...tools,
    async stop() {
      await watch.stop();
      await tools.stop();
      redis.disconnect();
    },
  };
}
