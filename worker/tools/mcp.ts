import { pause, type Service } from '../../shared/lifecycle.ts';
import type { Logger } from '../../shared/log.ts';
import type { McpServer } from './mcp-config.ts';
import { keepServer, type McpServerLimits, type RunningServer } from './mcp-server.ts';
import { type McpTool, toolName } from './mcp-tool.ts';
import { type Toolbox, type ToolSpec, toolError } from './tool.ts';

export interface McpParts extends Partial<McpServerLimits> {
  /** How long a call may take. */
  timeoutMs: number;
  /** How long the start waits for servers; the rest goes on connecting in the background. */
  startMs?: number;
  log: Logger;
}

const START_MS = 10_000;
const LIMITS: Omit<McpServerLimits, 'timeoutMs'> = {
  connectMs: 60_000,
  probeMs: 30_000,
  graceMs: 2_000,
  retryMs: 1_000,
  retryMaxMs: 60_000,
  steadyMs: 60_000,
  relistMs: 1_000,
  pagesMax: 50,
  toolsMax: 500,
};

/** What the model is told of, and what each name stands for. */
interface Directory {
  /** The lists that it was made of, by identity. */
  lists: readonly (readonly McpTool[])[];
  specs: readonly ToolSpec[];
  byName: ReadonlyMap<string, { server: RunningServer; tool: McpTool }>;
}

/**
 * Starts the tools of MCP servers: connects to all at once and waits for the first try of each, but at most `startMs`.
 * Never rejects: a server that is away is tried again until the stop, and its tools appear when it was there once.
 * After the stop no child process is left, and calls in flight have ended with an error.
 */
export async function startMcp(servers: readonly McpServer[], parts: McpParts): Promise<Toolbox & Service> {
  const { startMs = START_MS, log, ...limits } = parts;
  const running = servers.map((server) => keepServer(server, { ...LIMITS, ...limits }, log));
  await untilTried(running, startMs, log);
  let directory: Directory = { lists: [], specs: [], byName: new Map() };
  const current = () => {
    const lists = running.map((server) => server.tools());
    const isSame = lists.length === directory.lists.length && lists.every((list, at) => list === directory.lists[at]);
    if (!isSame) directory = directoryOf(running, lists, log);
    return directory;
  };
  return {
    name: 'mcp',
    specs: () => current().specs,
    async call({ name, input }, signal) {
      const known = current().byName.get(name);
      return known === undefined
        ? toolError('There is no tool of this name.')
        : known.server.call(known.tool, input, signal);
    },
    async stop() {
      await Promise.all(running.map((server) => server.stop()));
    },
  };
}

async function untilTried(running: readonly RunningServer[], startMs: number, log: Logger): Promise<void> {
  const waiting = new AbortController();
  const tried = new Set<RunningServer>();
  const all = running.map((server) => server.tried.then(() => tried.add(server)));
  await Promise.race([Promise.all(all), pause(startMs, waiting.signal)]);
  waiting.abort();
  for (const server of running) {
    if (!tried.has(server)) {
      log.warn({ server: server.name, startMs }, 'an MCP server is not up yet; its tools appear when it is');
    }
  }
}

/** Servers in the order of the configuration, the tools of each in its own order; the first of a name has it. */
function directoryOf(
  running: readonly RunningServer[],
  lists: readonly (readonly McpTool[])[],
  log: Logger,
): Directory {
  const byName = new Map<string, { server: RunningServer; tool: McpTool }>();
  for (const [at, server] of running.entries()) {
    for (const tool of lists[at] ?? []) {
      const name = toolName(server.name, tool.name);
      if (byName.has(name)) log.warn({ server: server.name, tool: name }, 'a tool is listed twice; the first is taken');
      else byName.set(name, { server, tool });
    }
  }
  const specs = [...byName].map(
    ([
      name,
      {
        tool: { description, inputSchema, repeatable },
      },
    ]) => ({
      name,
      description,
      inputSchema,
      repeatable,
    }),
  );
  return { lists, specs, byName };
}
