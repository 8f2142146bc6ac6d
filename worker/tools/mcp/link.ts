import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { clip } from '../../../shared/base/text.ts';
import { type ToolOutput, toolError } from '../toolbox.ts';
import type { McpServer } from './config.ts';
import { cleanText, toolOutput, wordsOf } from './content.ts';
import { createGuard, guarded } from './guard.ts';
import { createSession } from './http.ts';
import type { McpTool } from './tool.ts';
import { type ChildPorts, createChild } from './transport.ts';

export interface LinkPorts extends Omit<ChildPorts, 'onEnd'> {
  /** A longer message ends the connection. */
  messageBytesMax: number;
  /** How long the server may take for the handshake. */
  connectMs: number;
  /** A server that does not answer a ping for this long is lost. */
  probeMs: number;
}

/**
 * One connection to a server, from the first try to the end.
 *
 * Contract: nothing throws or rejects, apart from `ready`. A link that is over stays over, and ends the requests that
 * wait for an answer. Every member may be used at any time and any number of times.
 */
export interface Link {
  readonly client: Client;
  /** Resolves when the server has answered the handshake. */
  readonly ready: Promise<void>;
  /** Aborted when the connection is over, whichever side ended it; the reason is a text. */
  readonly over: AbortSignal;
  /** The bound that the server broke, in our own words, if the connection ended for that. */
  broken(): string | undefined;
  /** Asks the server whether it is still there; if not, the link is over. */
  probe(): void;
  end(reason: string): void;
  /** Ends it, and resolves when neither a session nor a child process is left. */
  close(): Promise<void>;
}

/** Starts to connect to a server. */
export function openLink(server: McpServer, ports: LinkPorts): Link {
  const over = new AbortController();
  const client = new Client({ name: 'spillway', version: '1' }, { capabilities: {} });
  const end = (reason: string) => {
    if (over.signal.aborted) return;
    over.abort(reason);
    client.transport?.onclose?.();
  };
  const bounds = { messagesPerSecond: server.limits.messages, messageBytesMax: ports.messageBytesMax };
  const guard = createGuard(bounds, end);
  let probing = false;
  const probe = () => {
    if (probing || over.signal.aborted || client.getServerCapabilities() === undefined) return;
    probing = true;
    void isAlive(client, ports.probeMs).then((alive) => {
      probing = false;
      if (!alive) end('it does not answer any more');
    });
  };
  const { transport, leave } =
    server.kind === 'stdio'
      ? byChild(guarded(createChild(server, guard, { ...ports, onEnd: end }), guard))
      : createSession(server, guard, end, probe);
  const ready = client.connect(transport, { timeout: ports.connectMs });
  // A caller that does not await it sees the end through `over`.
  ready.catch(() => undefined);
  let leaving: Promise<void> | undefined;
  return {
    client,
    ready,
    over: over.signal,
    broken: guard.broken,
    probe,
    end,
    close() {
      end('closed by us');
      leaving ??= leave();
      return leaving;
    },
  };
}

function byChild(transport: Transport) {
  return { transport, leave: () => transport.close() };
}

/** A server that refuses a ping is alive, even if busy or in trouble; a proxy without its server is not. */
async function isAlive(client: Client, probeMs: number): Promise<boolean> {
  try {
    await client.ping({ timeout: probeMs });
    return true;
  } catch (error) {
    if (error instanceof StreamableHTTPError) return error.code === 429 || error.code === 500;
    if (!(error instanceof McpError)) return false;
    return error.code !== ErrorCode.RequestTimeout && error.code !== ErrorCode.ConnectionClosed;
  }
}

/** The means of a call. */
export interface Caller {
  /** The last usable connection; it may be over. */
  link: Link | undefined;
  limits: { timeoutMs: number };
  /** Removes the configuration's secrets from a text. */
  scrub: (text: string) => string;
}

const ERROR_CHARS_MAX = 4_000;
/** A longer text is cut before it is searched for secrets: the search must end soon. */
const SCRUBBED_CHARS_MAX = 100_000;
const TIMER_MS_MAX = 2_147_483_647;
/** Bounded: a run of millions can exhaust the stack of a regular expression. */
const UNSEEN = /[\s\p{C}]{1,1000}/gu;
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);

const MAYBE = 'it may or may not have taken effect';
const AWAY = "The tool's server is not available right now.";

const anything = z.unknown();

/**
 * Calls a tool of a server. Its answer is its own affair: the SDK's `callTool` would compile the output schema, and with
 * it a stranger's patterns.
 *
 * Contract: nothing throws; it ends within the time limit, and on abort at once. Not idempotent in general. Every
 * failure becomes a text, without secrets.
 */
export async function callTool(
  caller: Caller,
  tool: McpTool,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { link, limits } = caller;
  if (link === undefined || link.over.aborted) return toolError(AWAY);
  if (signal.aborted) return toolError('The call was called off before it was made.');
  // Each call has its own signal: the SDK never removes its listener, and would cancel calls that ended long ago.
  const calledOff = new AbortController();
  const callOff = () => calledOff.abort();
  signal.addEventListener('abort', callOff);
  const since = performance.now();
  try {
    const answer = await link.client.request(
      { method: 'tools/call', params: { name: tool.name, arguments: input } },
      anything,
      { timeout: Math.min(limits.timeoutMs, TIMER_MS_MAX), signal: calledOff.signal },
    );
    return outputOf(caller, answer);
  } catch (error) {
    if (signal.aborted) return toolError(`The call was called off; ${MAYBE}.`);
    if (link.over.aborted) return toolError(`The tool's server ${howItEnded(link)} during the call; ${MAYBE}.`);
    // A server can send this code as well.
    const isLate = error instanceof McpError && error.code === ErrorCode.RequestTimeout;
    if (!isLate || performance.now() - since < limits.timeoutMs - 1) return failureOf(caller, error);
    link.probe();
    return toolError(`The tool did not answer within ${limits.timeoutMs / 1000} seconds; ${MAYBE}.`);
  } finally {
    signal.removeEventListener('abort', callOff);
  }
}

function howItEnded(link: Link): string {
  const bound = link.broken();
  return bound === undefined ? 'stopped' : `was cut off (${bound})`;
}

function outputOf(caller: Caller, answer: unknown): ToolOutput {
  const output = toolOutput(answer);
  if (!output.isError) return output;
  const words = shown(caller, wordsOf(output), ERROR_CHARS_MAX);
  const text = words === '' ? 'The tool failed and did not say why.' : words;
  const media = output.parts.filter(({ type }) => type !== 'text');
  return { parts: [{ type: 'text', text }, ...media], isError: true };
}

function failureOf(caller: Caller, error: unknown): ToolOutput {
  // Nothing was called: there is no server, or it no longer knows the session.
  const isForgotten = error instanceof StreamableHTTPError && error.code === 404;
  if (isForgotten || UNREACHED.has(systemCode(error) ?? '')) return toolError(AWAY);
  const words = shown(caller, wordsOfFailure(error), ERROR_CHARS_MAX);
  return toolError(
    error instanceof McpError ? `The call failed: ${words}` : `The call failed on its way (${words}); ${MAYBE}.`,
  );
}

/** The code of a system error: of the error itself or of its cause. */
function systemCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : systemCode(cause);
}

/** The message of an error, followed by the system's error code. */
export function wordsOfFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = systemCode(error);
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** The server's text as it may be shown: short, and without secrets. */
function shown({ scrub }: Pick<Caller, 'scrub'>, words: string, charsMax: number): string {
  return clip(scrub(cleanText(words.slice(0, SCRUBBED_CHARS_MAX))), charsMax);
}

/** The same on one line, for the log and an operator's terminal: no character in it steers either. */
export function shownInLine(caller: Pick<Caller, 'scrub'>, words: string, charsMax: number): string {
  return shown(caller, words.slice(0, SCRUBBED_CHARS_MAX).replace(UNSEEN, ' '), charsMax).trim();
}
