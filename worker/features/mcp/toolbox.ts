import { type Service, within } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { Settings } from '../../../shared/base/settings.ts';
import { clip } from '../../../shared/base/text.ts';
import { type OmittedTool, type Toolbox, type ToolSpec, toolError } from '../../tools/toolbox.ts';
import { callTool } from './call.ts';
import type { McpServer } from './config.ts';
import { LIMITS, type McpLimits } from './limits.ts';
import { findSandbox, type Sandbox, secretPlaces } from './sandbox.ts';
import { RunningServer } from './server.ts';
import type { McpTool, ServerTools } from './tool.ts';
import { toolName } from './tool-name.ts';

/** The limits that differ from the defaults. */
type GivenLimits = Pick<McpLimits, 'timeoutMs'> & Partial<McpLimits>;

/** A server as it is now. */
export interface McpServerState extends Pick<RunningServer, 'problem' | 'broken' | 'unconfined'> {
  server: string;
  /** How many of its tools the model is shown. */
  tools: number;
  omitted: readonly OmittedTool[];
}

/** The tools of all servers. `state` is in the order of the configuration. */
export type McpToolbox = Toolbox & Service & { state(): readonly McpServerState[] };

/** The tools that the model is shown, and what each name stands for. */
interface Directory {
  /** The lists of all servers, from which the directory was built. */
  lists: readonly ServerTools[];
  specs: readonly ToolSpec[];
  byName: ReadonlyMap<string, Listed>;
  /** The tools of each server that the model is not shown. */
  omitted: ReadonlyMap<RunningServer, readonly OmittedTool[]>;
}

/** A tool with its server, in the form that the model is shown. */
interface Listed extends ToolSpec {
  server: RunningServer;
  tool: McpTool;
}

/** Starts the servers that the settings name, in the best sandbox that they allow and this machine has. As `startMcp`. */
export async function startConfinedMcp(
  settings: Settings,
  servers: readonly McpServer[],
  limits: GivenLimits,
  log: Logger,
): Promise<McpToolbox> {
  return startMcp(servers, await findSandbox(settings.MCP_SANDBOX, secretPlaces(settings)), limits, log);
}

/**
 * Starts the tools of MCP servers: connects to all at once and waits for the first try of each, but at most `startMs`.
 * Never rejects: an unavailable server is retried until the stop, and its tools appear once it has connected. Tools
 * that the model's API would refuse, or that exceed the bound on all tools together, are omitted, and `state` names them. After the
 * stop no child process is left, and calls in flight have ended with an error.
 */
export async function startMcp(
  servers: readonly McpServer[],
  sandbox: Sandbox,
  given: GivenLimits,
  log: Logger,
): Promise<McpToolbox> {
  const limits = { ...LIMITS, ...given };
  const running = servers.map((server) => new RunningServer(server, limits, sandbox, log));
  let directory: Directory = { lists: [], specs: [], byName: new Map(), omitted: new Map() };
  const current = () => {
    if (running.some(({ list }, at) => list !== directory.lists[at]))
      directory = directoryOf(running, limits.toolsCharsMax);
    return directory;
  };
  await untilTried(running, limits.startMs, log);
  return {
    name: 'mcp',
    specs: () => current().specs,
    async call({ name, input }, signal) {
      const known = current().byName.get(name);
      if (known === undefined) return toolError('There is no tool of this name.');
      return callTool(known.server, known.tool, input, signal);
    },
    state: () => stateOf(running, current()),
    async stop() {
      await Promise.all(running.map((server) => server.stop()));
    },
  };
}

function stateOf(running: readonly RunningServer[], { byName, omitted }: Directory): readonly McpServerState[] {
  return running.map((server) => ({
    server: server.config.name,
    problem: server.problem,
    broken: server.broken,
    unconfined: server.unconfined,
    tools: [...byName.values()].filter((listed) => listed.server === server).length,
    omitted: omitted.get(server) ?? [],
  }));
}

async function untilTried(running: readonly RunningServer[], startMs: number, log: Logger): Promise<void> {
  const late = new Set(running);
  await within(Promise.all(running.map((server) => server.tried.then(() => late.delete(server)))), startMs);
  for (const { config } of late) {
    log.warn({ server: config.name, startMs }, 'an MCP server is not up yet; its tools appear when it is');
  }
}

/**
 * Servers in the order of the configuration, the tools of each in its own order; of two tools with one name, the first
 * wins.
 */
function directoryOf(running: readonly RunningServer[], toolsCharsMax: number): Directory {
  const lists = running.map(({ list }) => list);
  const byName = new Map<string, Listed>();
  const omitted = new Map(running.map((server) => [server, [...server.list.omitted]]));
  for (const server of running) {
    const { name: serverName, tools, guests } = server.config;
    for (const tool of server.list.tools) {
      const name = toolName(serverName, tool.name);
      if (byName.has(name)) omitted.get(server)?.push({ tool: name, why: 'its server lists this name twice' });
      else if (tools[tool.name] !== 'off')
        byName.set(name, { ...tool, name, asks: asksFor(server.config, tool), isForGuests: guests, server, tool });
    }
  }
  const fitting = boundTools([...byName.values()], toolsCharsMax);
  for (const one of fitting.omitted) omitted.get(byName.get(one.tool)?.server as RunningServer)?.push(one);
  const specs = fitting.specs.map(({ server: _, tool: __, ...spec }) => spec);
  return { lists, specs, byName: new Map(fitting.specs.map((listed) => [listed.name, listed])), omitted };
}

/** When the gateway asks a person before it calls a tool. It believes a server that says that a tool only reads. */
function asksFor({ approve, tools }: McpServer, { name, onlyReads }: McpTool): ToolSpec['asks'] {
  const wanted = tools[name] ?? approve;
  if (wanted === 'always') return 'always';
  return wanted === 'write' && !onlyReads ? 'until granted' : undefined;
}

/** The lengths to which descriptions are cut, in turn, until all tools fit. 300 characters still say what a tool is for. */
const DESCRIPTION_STEPS = [4_000, 1_000, 300];

/**
 * Keeps the tools that fit `charsMax` characters of serialised definitions. Pure; keeps the order. Long descriptions
 * are cut first, and only as much as needed; then the first tools that fit are kept. Each omitted tool is named.
 */
export function boundTools<Spec extends ToolSpec>(
  specs: readonly Spec[],
  charsMax: number,
): { specs: readonly Spec[]; omitted: readonly OmittedTool[] } {
  let shown = specs;
  for (const step of DESCRIPTION_STEPS) {
    shown = specs.map((spec) => ({ ...spec, description: clip(spec.description, step) }));
    if (shown.reduce((sum, spec) => sum + sizeOf(spec), 0) <= charsMax) return { specs: shown, omitted: [] };
  }
  let left = charsMax;
  const kept: Spec[] = [];
  const omitted: OmittedTool[] = [];
  for (const spec of shown) {
    const size = sizeOf(spec);
    if (size <= left) {
      left -= size;
      kept.push(spec);
    } else omitted.push({ tool: spec.name, why: `all tools together would have more than ${charsMax} characters` });
  }
  return { specs: kept, omitted };
}

/** Characters of a definition as it is sent. */
function sizeOf({ name, description, inputSchema }: ToolSpec): number {
  return JSON.stringify({ name, description, input_schema: inputSchema }).length + 1;
}
