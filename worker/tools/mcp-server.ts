import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { pause } from '../../shared/lifecycle.ts';
import type { Logger } from '../../shared/log.ts';
import { clip } from '../../shared/text.ts';
import { type McpServer, scrubberOf } from './mcp-config.ts';
import { cleanText, toolOutput, wordsOf } from './mcp-content.ts';
import { errorCode, type Link, type LinkParts, openLink } from './mcp-link.ts';
import { answerFault, type McpTool, readTool } from './mcp-tool.ts';
import { type ToolOutput, toolError } from './tool.ts';

export interface McpServerLimits extends Omit<LinkParts, 'onStderr'> {
  /** How long a call may take. */
  timeoutMs: number;
  /** The wait before the first try to connect again; it doubles from try to try, up to `retryMaxMs`. */
  retryMs: number;
  retryMaxMs: number;
  /** A connection that held for so long was sound, and the waits start anew. */
  steadyMs: number;
  /** The least time between two looks at a list of tools that changes all the time. */
  relistMs: number;
  pagesMax: number;
  toolsMax: number;
}

/**
 * A server that is kept connected until it is stopped.
 *
 * Contract: nothing throws. `tools` returns the same array as long as the list is the same, also while the server is
 * away; it is empty until the server was there once.
 */
export interface RunningServer {
  readonly name: string;
  /** Resolves when the first try to connect is over, well or badly. */
  readonly tried: Promise<void>;
  tools(): readonly McpTool[];
  /** Not idempotent in general. Ends within the time limit, and on abort at once. */
  call(tool: McpTool, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolOutput>;
  stop(): Promise<void>;
}

/** What all that keeps one server shares. */
interface Keeper {
  server: McpServer;
  limits: McpServerLimits;
  log: Logger;
  /** Takes the secrets of the configuration out of a text. */
  scrub: (text: string) => string;
  /** The last connection that could be used for calls; it may be over. */
  link: Link | undefined;
  tools: readonly McpTool[];
}

const ERROR_CHARS_MAX = 4_000;
const REASON_CHARS_MAX = 300;
/** A longer text is cut before its secrets are looked for: that has to end soon. */
const SCRUBBED_CHARS_MAX = 100_000;
const SDK_GRACE_MS = 1_000;
const TIMER_MS_MAX = 2_147_483_647;
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);

const MAYBE = 'it may or may not have taken effect';
const STOPPED = `The tool's server stopped during the call; ${MAYBE}.`;
const AWAY = "The tool's server is not available right now.";

const anything = z.unknown();
const listForm = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/** Connects to a server and connects again whenever that ends, with growing waits, until it is stopped. */
export function keepServer(server: McpServer, limits: McpServerLimits, log: Logger): RunningServer {
  const keeper: Keeper = { server, limits, log, scrub: scrubberOf(server), link: undefined, tools: [] };
  const stopping = new AbortController();
  const tried = Promise.withResolvers<void>();
  const running = keep(keeper, tried.resolve, stopping.signal);
  return {
    name: server.name,
    tried: tried.promise,
    tools: () => keeper.tools,
    call: (tool, input, signal) => call(keeper, tool, input, signal),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function keep(keeper: Keeper, onTried: () => void, stopping: AbortSignal): Promise<void> {
  const { server, limits, log } = keeper;
  for (let tries = 1; !stopping.aborted; tries++) {
    const link = openLink(server, {
      ...limits,
      onStderr: (line) => {
        if (!log.isLevelEnabled('debug')) return;
        log.debug({ server: server.name, line: keeper.scrub(line) }, 'standard error of a server');
      },
    });
    const onStop = () => link.end('closed by us');
    stopping.addEventListener('abort', onStop);
    const lost = await serve(keeper, link, onTried);
    // The next child must not meet the last one: they may hold the same files.
    await link.close();
    stopping.removeEventListener('abort', onStop);
    if (stopping.aborted) return;
    if (lost.heldMs >= limits.steadyMs) tries = 1;
    const waitMs = waitAfter(tries, limits);
    log.warn({ server: server.name, reason: lost.reason, tries, waitMs }, 'an MCP server is away; it is tried again');
    await pause(waitMs, stopping);
  }
}

function waitAfter(tries: number, { retryMs, retryMaxMs }: McpServerLimits): number {
  return Math.round(Math.min(retryMs * 2 ** (tries - 1), retryMaxMs) * (0.75 + 0.25 * Math.random()));
}

/** Makes a connection usable and keeps its tools current until it is over. */
async function serve(keeper: Keeper, link: Link, onTried: () => void): Promise<{ reason: string; heldMs: number }> {
  let upSince = Number.POSITIVE_INFINITY;
  const deadline = setTimeout(() => link.end('it was not ready in time'), keeper.limits.connectMs);
  try {
    let change = latch();
    link.client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.open());
    await unlessOver(link, link.ready);
    keeper.tools = await unlessOver(link, currentTools(keeper, link));
    clearTimeout(deadline);
    keeper.link = link;
    upSince = performance.now();
    onTried();
    keeper.log.info({ server: keeper.server.name, tools: keeper.tools.length }, 'an MCP server is up');
    for (;;) {
      await unlessOver(link, change.opened);
      change = latch();
      await relist(keeper, link);
      await pause(keeper.limits.relistMs, link.over);
    }
  } catch (error) {
    const reason = link.over.aborted ? String(link.over.reason) : wordsOfFailure(error);
    return { reason: shown(keeper, reason, REASON_CHARS_MAX), heldMs: Math.max(0, performance.now() - upSince) };
  } finally {
    clearTimeout(deadline);
    onTried();
  }
}

async function relist(keeper: Keeper, link: Link): Promise<void> {
  try {
    keeper.tools = await unlessOver(link, currentTools(keeper, link));
  } catch (error) {
    if (link.over.aborted) throw error;
    const reason = shown(keeper, wordsOfFailure(error), REASON_CHARS_MAX);
    keeper.log.warn({ server: keeper.server.name, reason }, 'the tools of a server could not be listed again');
  }
}

/** The tools of a server, or the very list that we have, when it is the same. */
async function currentTools(keeper: Keeper, link: Link): Promise<readonly McpTool[]> {
  const { pagesMax, toolsMax, connectMs } = keeper.limits;
  const listed: unknown[] = [];
  let cursor: string | undefined;
  let pages = 0;
  // A server without tools says so, and need not know the question.
  const hasTools = link.client.getServerCapabilities()?.tools !== undefined;
  while (hasTools && pages < pagesMax && listed.length <= toolsMax && (pages === 0 || cursor !== undefined)) {
    const page: z.infer<typeof listForm> = await link.client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      listForm,
      { timeout: connectMs },
    );
    listed.push(...page.tools);
    cursor = page.nextCursor;
    pages += 1;
  }
  if (cursor !== undefined || listed.length > toolsMax) {
    keeper.log.warn({ server: keeper.server.name, toolsMax, pagesMax }, 'a server has more tools than are taken');
  }
  const tools = listed.flatMap((entry) => readTool(entry) ?? []).slice(0, toolsMax);
  return JSON.stringify(tools) === JSON.stringify(keeper.tools) ? keeper.tools : tools;
}

async function call(
  keeper: Keeper,
  tool: McpTool,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { link, limits } = keeper;
  if (link === undefined || link.over.aborted) return toolError(AWAY);
  if (signal.aborted) return toolError('The call was called off before it was made.');
  const { promise, resolve } = Promise.withResolvers<ToolOutput>();
  // A signal of its own for each call: the SDK never takes its listener off, and would cancel what ended long ago.
  const ending = new AbortController();
  const giveUp = (text: string) => {
    resolve(toolError(text));
    ending.abort('given up');
  };
  const onAbort = () => giveUp(`The call was called off; ${MAYBE}.`);
  const onOver = () => giveUp(STOPPED);
  const deadline = setTimeout(() => {
    giveUp(`The tool did not answer within ${limits.timeoutMs / 1000} seconds; ${MAYBE}.`);
    link.probe();
  }, limits.timeoutMs);
  signal.addEventListener('abort', onAbort);
  link.over.addEventListener('abort', onOver);
  link.client
    .request({ method: 'tools/call', params: { name: tool.name, arguments: input } }, anything, {
      timeout: Math.min(limits.timeoutMs + SDK_GRACE_MS, TIMER_MS_MAX),
      signal: ending.signal,
    })
    .then((answer) => resolve(outputOf(keeper, tool, answer)))
    .catch((error: unknown) => resolve(failureOf(keeper, error)));
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', onAbort);
    link.over.removeEventListener('abort', onOver);
  }
}

function outputOf(keeper: Keeper, tool: McpTool, answer: unknown): ToolOutput {
  const output = toolOutput(answer);
  if (output.isError) {
    const words = shown(keeper, wordsOf(output), ERROR_CHARS_MAX);
    return toolError(words === '' ? 'The tool failed and did not say why.' : words);
  }
  const fault = answerFault(tool, answer);
  if (fault === undefined) return output;
  const text = `The tool was called, but its answer does not have the form that it promises (${fault}). The answer was:`;
  return { parts: [{ type: 'text', text }, ...output.parts], isError: true };
}

function failureOf(keeper: Keeper, error: unknown): ToolOutput {
  if (isUnreached(error)) return toolError(AWAY);
  const words = shown(keeper, wordsOfFailure(error), ERROR_CHARS_MAX);
  return toolError(
    error instanceof McpError ? `The call failed: ${words}` : `The call failed on its way (${words}); ${MAYBE}.`,
  );
}

/** Whether surely nothing was called: there is no server, or one that does not know the session any more. */
function isUnreached(error: unknown): boolean {
  return UNREACHED.has(errorCode(error) ?? '') || (error instanceof StreamableHTTPError && error.code === 404);
}

function wordsOfFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** The server's words as they may be shown: without secrets, and short. */
function shown(keeper: Keeper, words: string, charsMax: number): string {
  return clip(keeper.scrub(cleanText(words.slice(0, SCRUBBED_CHARS_MAX))), charsMax);
}

/** Waits for something, and fails as soon as the link is over. */
async function unlessOver<T>(link: Link, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onOver = () => reject(new Error(String(link.over.reason)));
  if (link.over.aborted) onOver();
  link.over.addEventListener('abort', onOver);
  try {
    return await Promise.race([work, promise]);
  } finally {
    link.over.removeEventListener('abort', onOver);
  }
}

function latch(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
