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

/** The time limit of a call, and the limits that differ from the defaults. */
type LimitOverrides = Pick<McpLimits, 'timeoutMs'> & Partial<McpLimits>;

/** The current state of a server. */
export interface McpServerState extends Pick<RunningServer, 'problem' | 'brokenBound' | 'whyUnconfined'> {
  server: string;
  /** The number of the server's tools that the model gets. */
  tools: number;
  omitted: readonly OmittedTool[];
}

/** The tools of all servers. `state` lists the servers in the order of the configuration. */
export type McpToolbox = Toolbox & Service & { state(): readonly McpServerState[] };

/** The tools that the model gets, and the server of each. */
interface Directory {
  /** The lists of all servers, from which the directory was built. */
  lists: readonly ServerTools[];
  specs: readonly ToolSpec[];
  byName: ReadonlyMap<string, DirectoryTool>;
  /** For each server, those of its tools that the model does not get. */
  omitted: ReadonlyMap<RunningServer, readonly OmittedTool[]>;
}

/** A tool as the model gets it, with its server. */
interface DirectoryTool extends ToolSpec {
  server: RunningServer;
  tool: McpTool;
}

/** Like `startMcp`, in the best sandbox that the settings allow and this machine has. */
export async function startConfinedMcp(
  settings: Settings,
  servers: readonly McpServer[],
  limits: LimitOverrides,
  log: Logger,
): Promise<McpToolbox> {
  return startMcp(servers, await findSandbox(settings.MCP_SANDBOX, secretPlaces(settings)), limits, log);
}

/**
 * Connects to all MCP servers at once, and waits for the first try of each, but at most `startMs`. Never rejects: it retries an
 * unavailable server until `stop`, and the server's tools appear once it has connected. Omits tools that the model's API would
 * refuse, or that exceed the limit on the size of all tools together; `state` names them. `stop` ends all child processes, and
 * ends the calls in flight with an error.
 */
export async function startMcp(
  servers: readonly McpServer[],
  sandbox: Sandbox,
  overrides: LimitOverrides,
  log: Logger,
): Promise<McpToolbox> {
  const limits = { ...LIMITS, ...overrides };
  const running = servers.map((server) => new RunningServer(server, limits, sandbox, log));
  let directory: Directory = { lists: [], specs: [], byName: new Map(), omitted: new Map() };
  const current = () => {
    if (running.some(({ list }, at) => list !== directory.lists[at]))
      directory = directoryOf(running, limits.toolsCharsMax);
    return directory;
  };
  await waitForFirstTries(running, limits.startMs, log);
  return {
    name: 'mcp',
    specs: () => current().specs,
    async call({ name, input }, signal) {
      const entry = current().byName.get(name);
      if (entry === undefined) return toolError('There is no tool of this name.');
      return callTool(entry.server, entry.tool, input, signal);
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
    brokenBound: server.brokenBound,
    whyUnconfined: server.whyUnconfined,
    tools: [...byName.values()].filter((listed) => listed.server === server).length,
    omitted: omitted.get(server) ?? [],
  }));
}

async function waitForFirstTries(running: readonly RunningServer[], startMs: number, log: Logger): Promise<void> {
  const late = new Set(running);
  await within(Promise.all(running.map((server) => server.firstTry.then(() => late.delete(server)))), startMs);
  for (const { config } of late) {
    log.warn({ server: config.name, startMs }, 'an MCP server is not up yet; its tools appear when it is');
  }
}

/** Lists the tools in the order of the configuration and of each server's list. Of tools with equal names, the first counts. */
function directoryOf(running: readonly RunningServer[], toolsCharsMax: number): Directory {
  const lists = running.map(({ list }) => list);
  const byName = new Map<string, DirectoryTool>();
  const omitted = new Map(running.map((server) => [server, [...server.list.omitted]]));
  for (const server of running) {
    const { name: serverName, tools, guests } = server.config;
    for (const tool of server.list.tools) {
      const name = toolName(serverName, tool.name);
      if (byName.has(name)) omitted.get(server)?.push({ tool: name, why: 'its server lists this name twice' });
      else if (tools[tool.name] !== 'off')
        byName.set(name, { ...tool, name, asks: approvalFor(server.config, tool), isForGuests: guests, server, tool });
    }
  }
  const fitting = boundTools([...byName.values()], toolsCharsMax);
  for (const one of fitting.omitted) omitted.get(byName.get(one.tool)?.server as RunningServer)?.push(one);
  const specs = fitting.specs.map(({ server: _, tool: __, ...spec }) => spec);
  return { lists, specs, byName: new Map(fitting.specs.map((listed) => [listed.name, listed])), omitted };
}

/** When the gateway asks a person before it calls a tool. The gateway believes a server's claim that a tool only reads. */
function approvalFor({ approve, tools }: McpServer, { name, onlyReads }: McpTool): ToolSpec['asks'] {
  const approval = tools[name] ?? approve;
  if (approval === 'always') return 'always';
  return approval === 'write' && !onlyReads ? 'until granted' : undefined;
}

/** `boundTools` cuts descriptions to one length after another, until all tools fit. 300 characters still explain a tool. */
const DESCRIPTION_STEPS = [4_000, 1_000, 300];

/**
 * Fits tools into `charsMax` characters of serialised definitions. Pure; keeps the order. Cuts long descriptions first, and
 * only as much as needed; then drops each tool for which the tools before it leave no room.
 */
export function boundTools<Spec extends ToolSpec>(
  specs: readonly Spec[],
  charsMax: number,
): { specs: readonly Spec[]; omitted: readonly OmittedTool[] } {
  let shortened = specs;
  for (const step of DESCRIPTION_STEPS) {
    shortened = specs.map((spec) => ({ ...spec, description: clip(spec.description, step) }));
    if (shortened.reduce((sum, spec) => sum + sizeOf(spec), 0) <= charsMax) return { specs: shortened, omitted: [] };
  }
  let charsLeft = charsMax;
  const fitting: Spec[] = [];
  const omitted: OmittedTool[] = [];
  for (const spec of shortened) {
    const size = sizeOf(spec);
    if (size <= charsLeft) {
      charsLeft -= size;
      fitting.push(spec);
    } else omitted.push({ tool: spec.name, why: `all tools together would have more than ${charsMax} characters` });
  }
  return { specs: fitting, omitted };
}

/** How many characters the definition of a tool has in a request. */
function sizeOf({ name, description, inputSchema }: ToolSpec): number {
  return JSON.stringify({ name, description, input_schema: inputSchema }).length + 1;
}
