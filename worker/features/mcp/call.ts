import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, ListToolsResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { clip } from '../../../shared/base/text.ts';
import { type OmittedTool, type ToolOutput, toolError } from '../../tools/toolbox.ts';
import { cleanText, toolOutput, wordsOf } from './content.ts';
import type { McpLimits } from './limits.ts';
import type { Link } from './link.ts';
import { type McpTool, readTool, type ServerTools } from './tool.ts';

/** The server of a call. `link`: the newest connection that was usable; it may have ended. `scrub` removes secrets. */
interface Callee {
  link: Link | undefined;
  limits: McpLimits;
  scrub(text: string): string;
}

const ERROR_CHARS_MAX = 4_000;
/** The search for secrets reads at most this many characters of a text, so that the search ends soon. */
const SCRUBBED_CHARS_MAX = 100_000;
const TIMER_MS_MAX = 2_147_483_647;
/** Matches at most 1,000 characters at once: a run of millions can exhaust the stack of a regular expression. */
const UNSEEN = /[\s\p{C}]{1,1000}/gu;
const CONNECT_ERRORS = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);

const MAYBE = 'it may or may not have taken effect';
const AWAY = "The tool's server is not available right now.";

const anything = z.unknown();

/**
 * Calls a tool of a server. Avoids the SDK's `callTool`: it compiles the output schema of the server, and the patterns in a
 * schema may run for hours.
 *
 * Contract: never throws; ends within the time limit, and at once on abort. Not idempotent in general. Every failure becomes a
 * text without secrets.
 */
export async function callTool(
  server: Callee,
  tool: McpTool,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { link, limits } = server;
  if (link === undefined || link.endSignal.aborted) return toolError(AWAY);
  if (signal.aborted) return toolError('The call was called off before it was made.');
  // Give each call a signal of its own: the SDK never removes its listener, and would cancel calls that ended long ago.
  const cancellation = new AbortController();
  const cancel = () => cancellation.abort();
  signal.addEventListener('abort', cancel);
  const sinceMs = performance.now();
  try {
    const answer = await link.client.request(
      { method: 'tools/call', params: { name: tool.name, arguments: input } },
      anything,
      { timeout: Math.min(limits.timeoutMs, TIMER_MS_MAX), signal: cancellation.signal },
    );
    return outputOf(server, answer);
  } catch (error) {
    if (signal.aborted) return toolError(`The call was called off; ${MAYBE}.`);
    const end = link.brokenBound === undefined ? 'stopped' : `was cut off (${link.brokenBound})`;
    if (link.endSignal.aborted) return toolError(`The tool's server ${end} during the call; ${MAYBE}.`);
    // The clock decides: a server can send the error code of a timeout itself, before the time is up.
    const isTimeout = error instanceof McpError && error.code === ErrorCode.RequestTimeout;
    if (!isTimeout || performance.now() - sinceMs < limits.timeoutMs - 1) return failureOf(server, error);
    link.probe();
    return toolError(`The tool did not answer within ${limits.timeoutMs / 1000} seconds; ${MAYBE}.`);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function outputOf(server: Callee, answer: unknown): ToolOutput {
  const output = toolOutput(answer);
  if (!output.isError) return output;
  const words = safeText(server, wordsOf(output), ERROR_CHARS_MAX);
  const text = words === '' ? 'The tool failed and did not say why.' : words;
  const media = output.parts.filter(({ type }) => type !== 'text');
  return { parts: [{ type: 'text', text }, ...media], isError: true };
}

function failureOf(server: Callee, error: unknown): ToolOutput {
  // With these errors, the call did not reach a tool: no server could be reached, or the server no longer knows the session.
  const isSessionLost = error instanceof StreamableHTTPError && error.code === 404;
  if (isSessionLost || CONNECT_ERRORS.has(systemCode(error) ?? '')) return toolError(AWAY);
  const words = safeText(server, errorWords(error), ERROR_CHARS_MAX);
  return toolError(
    error instanceof McpError ? `The call failed: ${words}` : `The call failed on its way (${words}); ${MAYBE}.`,
  );
}

/** The system's code, such as `ECONNREFUSED`, of an error or of its nearest cause that has one. */
function systemCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : systemCode(cause);
}

/** The message of an error, followed by the system's error code, if there is one and the message lacks it. */
export function errorWords(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = systemCode(error);
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** A server's text for the model and the log: at most `charsMax` long, and without secrets. */
function safeText({ scrub }: Pick<Callee, 'scrub'>, words: string, charsMax: number): string {
  return clip(scrub(cleanText(words.slice(0, SCRUBBED_CHARS_MAX))), charsMax);
}

/** A server's text on one line, without control characters, for the log and an operator's terminal. */
export function safeLine(server: Pick<Callee, 'scrub'>, words: string, charsMax: number): string {
  return safeText(server, words.slice(0, SCRUBBED_CHARS_MAX).replace(UNSEEN, ' '), charsMax).trim();
}

/** The SDK's schema of a page of tools, but with any value as a tool, because `readTool` checks each tool separately. */
const pageForm = ListToolsResultSchema.extend({ tools: z.array(z.unknown()) });

/** Asks a server for its tools, page by page, up to the limits. Rejects if an answer is invalid or does not come in time. */
export async function listTools({ client }: Link, limits: McpLimits): Promise<ServerTools> {
  const { pagesMax, toolsMax, connectMs } = limits;
  const list = { tools: [] as McpTool[], omitted: [] as OmittedTool[] };
  // A server without tools does not state the capability `tools`, and need not support the request.
  if (client.getServerCapabilities()?.tools === undefined) return list;
  let cursor: string | undefined;
  let count = 0;
  for (let pages = 0; pages < pagesMax && count <= toolsMax; pages++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
    const page: z.infer<typeof pageForm> = await client.request(request, pageForm, { timeout: connectMs });
    for (const entry of page.tools.slice(0, Math.max(0, toolsMax - count))) {
      const tool = readTool(entry);
      if (tool !== undefined && 'why' in tool) list.omitted.push(tool);
      else if (tool !== undefined) list.tools.push(tool);
    }
    count += page.tools.length;
    cursor = page.nextCursor;
    if (cursor === undefined && count <= toolsMax) return list;
  }
  list.omitted.push({ tool: 'the_rest', why: `at most ${toolsMax} tools on ${pagesMax} pages are taken` });
  return list;
}
