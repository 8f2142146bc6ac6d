import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { clip } from '../../../shared/base/text.ts';
import { type ToolOutput, toolError } from '../toolbox.ts';
import { cleanText, toolOutput, wordsOf } from './content.ts';
import { errorCode, type Link } from './link.ts';
import type { McpTool } from './tool.ts';

/** What a call is made with. */
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
const SDK_GRACE_MS = 1_000;
const TIMER_MS_MAX = 2_147_483_647;
/** Bounded: a run of millions can exhaust the stack of a regular expression. */
const UNSEEN = /[\s\p{C}]{1,1000}/gu;
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);

const MAYBE = 'it may or may not have taken effect';
const STOPPED = `The tool's server stopped during the call; ${MAYBE}.`;
const AWAY = "The tool's server is not available right now.";

const anything = z.unknown();

/**
 * Calls a tool of a server. Contract: nothing throws; it ends within the time limit, and on abort at once. Not
 * idempotent in general. Every failure becomes a text, without secrets.
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
  const { promise, resolve } = Promise.withResolvers<ToolOutput>();
  // Each call has its own signal: the SDK never removes its listener, and would cancel calls that ended long ago.
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
    .then((answer) => resolve(outputOf(caller, answer)))
    .catch((error: unknown) => resolve(failureOf(caller, error)));
  try {
    return await promise;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', onAbort);
    link.over.removeEventListener('abort', onOver);
  }
}

/** A server's answer is its own affair: whether it keeps what an output schema promises is not checked. */
function outputOf(caller: Caller, answer: unknown): ToolOutput {
  const output = toolOutput(answer);
  if (!output.isError) return output;
  const words = shown(caller, wordsOf(output), ERROR_CHARS_MAX);
  const text = words === '' ? 'The tool failed and did not say why.' : words;
  const pictures = output.parts.filter(({ type }) => type === 'image');
  return { parts: [{ type: 'text', text }, ...pictures], isError: true };
}

function failureOf(caller: Caller, error: unknown): ToolOutput {
  if (isUnreached(error)) return toolError(AWAY);
  const words = shown(caller, wordsOfFailure(error), ERROR_CHARS_MAX);
  return toolError(
    error instanceof McpError ? `The call failed: ${words}` : `The call failed on its way (${words}); ${MAYBE}.`,
  );
}

/** Whether certainly nothing was called: there is no server, or it no longer knows the session. */
function isUnreached(error: unknown): boolean {
  return UNREACHED.has(errorCode(error) ?? '') || (error instanceof StreamableHTTPError && error.code === 404);
}

/** The message of an error, followed by the system's error code. */
export function wordsOfFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** The server's text as it may be shown: short, and without secrets. */
export function shown({ scrub }: Pick<Caller, 'scrub'>, words: string, charsMax: number): string {
  return clip(scrub(cleanText(words.slice(0, SCRUBBED_CHARS_MAX))), charsMax);
}

/** The same on one line, for the log and an operator's terminal: no character in it steers either. */
export function shownInLine(caller: Pick<Caller, 'scrub'>, words: string, charsMax: number): string {
  return shown(caller, words.slice(0, SCRUBBED_CHARS_MAX).replace(UNSEEN, ' '), charsMax).trim();
}
