import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { ToolOutput } from '../toolbox.ts';
import { type Caller, callTool, listTools, shownInLine, wordsOfFailure } from './call.ts';
import { type McpServer, scrubberOf, type ToolPolicy } from './config.ts';
import { type Link, type McpLimits, openLink } from './link.ts';
import { type Sandbox, sandboxFor } from './sandbox.ts';
import type { McpTool, ServerTools } from './tool.ts';

/**
 * A server that is kept connected until it is stopped.
 *
 * Contract: nothing throws. `listed` returns the same object as long as the list is the same, also while the server is
 * unavailable; it is empty until the server has connected once.
 */
export interface RunningServer {
  readonly name: string;
  readonly policy: ToolPolicy;
  /** Resolves when the first try to connect has succeeded or failed. */
  readonly tried: Promise<void>;
  listed(): ServerTools;
  /** Why it is unavailable, as a text for the operator; `undefined` when it is available. */
  problem(): string | undefined;
  /** The bound for which its last connection was ended, in our own words, until a connection has held for a while. */
  broken(): string | undefined;
  /** Why a program is not kept from what is ours; `undefined` for one that is, and for what runs elsewhere. */
  unconfined(): string | undefined;
  /** Not idempotent in general. Ends within the time limit, and on abort at once. */
  call(tool: McpTool, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolOutput>;
  stop(): Promise<void>;
}

/** The state that all who keep one server share. */
interface Keeper extends Caller {
  server: McpServer;
  limits: McpLimits;
  log: Logger;
  listed: ServerTools;
  problem: string | undefined;
  broken: string | undefined;
  /** Since when the connection is usable; infinite while there is none. */
  upSinceMs: number;
  sandbox: Sandbox;
}

const REASON_CHARS_MAX = 300;
const NAME_CHARS_MAX = 64;

/** Connects to a server and reconnects whenever the connection ends, with growing waits, until it is stopped. */
export function keepServer(server: McpServer, limits: McpLimits, sandbox: Sandbox, log: Logger): RunningServer {
  const keeper: Keeper = {
    server,
    limits,
    log,
    scrub: scrubberOf(server),
    link: undefined,
    listed: { tools: [], omitted: [] },
    problem: 'it has not answered yet',
    broken: undefined,
    upSinceMs: Number.POSITIVE_INFINITY,
    sandbox,
  };
  const stopping = new AbortController();
  const tried = Promise.withResolvers<void>();
  const running = keep(keeper, tried.resolve, stopping.signal);
  return {
    name: server.name,
    policy: server,
    tried: tried.promise,
    listed: () => keeper.listed,
    problem: () => keeper.problem,
    broken: () => (performance.now() - keeper.upSinceMs < limits.steadyMs ? keeper.broken : undefined),
    unconfined: () => unconfined(keeper),
    call: (tool, input, signal) => callTool(keeper, tool, input, signal),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function keep(keeper: Keeper, onTried: () => void, stopping: AbortSignal): Promise<void> {
  const folder = join(tmpdir(), `spillway-mcp-${randomUUID()}`);
  keeper.sandbox = await sandboxFor(keeper.server, keeper.sandbox);
  for (let tries = 1; !stopping.aborted; tries++) {
    const lost = await serveOnce(keeper, folder, onTried, stopping);
    if (stopping.aborted) break;
    if (lost.heldMs >= keeper.limits.steadyMs) tries = 1;
    const waitMs = waitAfter(tries, keeper.limits);
    const { server, log } = keeper;
    log.warn({ server: server.name, reason: lost.reason, tries, waitMs }, 'an MCP server is away; it is tried again');
    await pause(waitMs, stopping);
  }
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}

function unconfined({ server, sandbox }: Keeper): string | undefined {
  return server.kind === 'stdio' && sandbox.kind === 'none' ? sandbox.why : undefined;
}

/** The end of a connection: why, and for how long it was usable. */
interface Lost {
  reason: string;
  heldMs: number;
}

/** One connection from its beginning to its end. */
async function serveOnce(keeper: Keeper, folder: string, onTried: () => void, stopping: AbortSignal): Promise<Lost> {
  const { server, limits, log } = keeper;
  const link = openLink(server, limits, {
    folder,
    sandbox: keeper.sandbox,
    onStderr: (line) => {
      if (!log.isLevelEnabled('debug')) return;
      log.debug({ server: server.name, line: keeper.scrub(line) }, 'standard error of a server');
    },
  });
  const onStop = () => link.end('closed by us');
  stopping.addEventListener('abort', onStop);
  const lost = await serve(keeper, link, onTried);
  // The next child must not overlap with the last one: both may hold the same files.
  await link.close();
  stopping.removeEventListener('abort', onStop);
  return lost;
}

function waitAfter(tries: number, { retryMs, retryMaxMs }: McpLimits): number {
  return Math.round(Math.min(retryMs * 2 ** (tries - 1), retryMaxMs) * (0.75 + 0.25 * Math.random()));
}

/** Makes a connection usable and keeps its tools current until it is over. */
async function serve(keeper: Keeper, link: Link, onTried: () => void): Promise<Lost> {
  const { server, limits, log } = keeper;
  const deadline = setTimeout(() => link.end('it was not ready in time'), limits.connectMs);
  let change = Promise.withResolvers<void>();
  link.client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.resolve());
  link.over.addEventListener('abort', () => change.resolve());
  let words = '';
  try {
    await link.ready;
    await readList(keeper, link);
    clearTimeout(deadline);
    keeper.link = link;
    keeper.problem = undefined;
    keeper.upSinceMs = performance.now();
    onTried();
    log.info({ server: server.name, tools: keeper.listed.tools.length }, 'an MCP server is up');
    while (!link.over.aborted) {
      await change.promise;
      change = Promise.withResolvers();
      if (!link.over.aborted) await relist(keeper, link);
      await pause(limits.relistMs, link.over);
    }
  } catch (error) {
    words = wordsOfFailure(error);
  }
  clearTimeout(deadline);
  const reason = shownInLine(keeper, link.over.aborted ? String(link.over.reason) : words, REASON_CHARS_MAX);
  const heldMs = Math.max(0, performance.now() - keeper.upSinceMs);
  keeper.upSinceMs = Number.POSITIVE_INFINITY;
  keeper.problem = reason;
  keeper.broken = link.broken() ?? (heldMs < limits.steadyMs ? keeper.broken : undefined);
  onTried();
  return { reason, heldMs };
}

async function relist(keeper: Keeper, link: Link): Promise<void> {
  try {
    await readList(keeper, link);
  } catch (error) {
    if (link.over.aborted) return;
    const reason = shownInLine(keeper, wordsOfFailure(error), REASON_CHARS_MAX);
    keeper.log.warn({ server: keeper.server.name, reason }, 'the tools of a server could not be listed again');
  }
}

/** Reads the tools of a server. An unchanged list keeps the very object that we have. */
async function readList(keeper: Keeper, link: Link): Promise<void> {
  const { tools, ...read } = await listTools(link, keeper.limits);
  const omitted = read.omitted.map(({ tool, why }) => ({
    tool: shownInLine(keeper, tool, NAME_CHARS_MAX),
    why: shownInLine(keeper, why, REASON_CHARS_MAX),
  }));
  if (JSON.stringify({ tools, omitted }) !== JSON.stringify(keeper.listed)) keeper.listed = { tools, omitted };
}
