import Anthropic from '@anthropic-ai/sdk';
import type { Block } from '../session/record.ts';
import { classify } from './classify.ts';
import type { Model, ModelAnswer, ModelRequest, ModelResult } from './model.ts';
import { wireRequest } from './request.ts';

export interface ClaudeOptions {
  apiKey: string;
  baseURL: string;
  /** Overrides what the endpoint states. */
  windowTokens?: number | undefined;
  /** Longest silence on a stream, the wait for its beginning included. */
  idleMs: number;
}

const WINDOW_DEFAULT_TOKENS = 200_000;
const WINDOW_KEEP_MS = 24 * 3600_000;
const WINDOW_TIMEOUT_MS = 10_000;

/** Windows of current models, for endpoints that have no models endpoint; the first prefix that fits wins. */
const WINDOWS: readonly (readonly [prefix: string, tokens: number])[] = [
  ['claude-haiku-4-5', 200_000],
  ['claude-sonnet-4-5', 200_000],
  ['claude-opus-4-5', 200_000],
  ['claude-', 1_000_000],
];

/**
 * The Messages API over the official SDK: streamed, without the SDK's retries (it would sleep for minutes inside a
 * job), and with a watchdog, since the SDK waits for ever on a stream that falls silent.
 */
export function createClaude(options: ClaudeOptions): Model {
  const client = new Anthropic({ apiKey: options.apiKey, baseURL: options.baseURL, maxRetries: 0, logLevel: 'off' });
  const windows = new Map<string, { tokens: number; readAtMs: number }>();
  return {
    send: (request, signal) => send(client, request, options.idleMs, signal),
    async windowTokens(model) {
      if (options.windowTokens !== undefined) return options.windowTokens;
      const known = windows.get(model);
      if (known && Date.now() - known.readAtMs < WINDOW_KEEP_MS) return known.tokens;
      const asked = await askWindow(client, model);
      windows.set(model, { tokens: asked, readAtMs: Date.now() });
      return asked;
    },
  };
}

async function send(
  client: Anthropic,
  request: ModelRequest,
  idleMs: number,
  signal: AbortSignal,
): Promise<ModelResult> {
  const watchdog = new AbortController();
  const either = AbortSignal.any([signal, watchdog.signal]);
  let timer = setTimeout(() => watchdog.abort(), idleMs);
  try {
    const stream = client.messages.stream(wireRequest(request), { signal: either });
    stream.on('streamEvent', () => {
      clearTimeout(timer);
      timer = setTimeout(() => watchdog.abort(), idleMs);
    });
    return { ok: true, answer: answerOf(await stream.finalMessage()) };
  } catch (error) {
    if (signal.aborted) return { ok: false, failure: { kind: 'transient', reason: 'aborted' } };
    if (watchdog.signal.aborted) return { ok: false, failure: { kind: 'transient', reason: 'timeout' } };
    return { ok: false, failure: classify(error) };
  } finally {
    clearTimeout(timer);
  }
}

function answerOf(message: Anthropic.Message): ModelAnswer {
  const { usage } = message;
  return {
    content: message.content as unknown as readonly Block[],
    text: message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
    stopReason: message.stop_reason,
    model: message.model,
    usage: {
      inputTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      outputTokens: usage.output_tokens,
    },
  };
}

/** Asks the endpoint. A 404 or any other failure is no error: many endpoints do not have this call. */
async function askWindow(client: Anthropic, model: string): Promise<number> {
  try {
    const info = await client.models.retrieve(model, {}, { timeout: WINDOW_TIMEOUT_MS });
    if (typeof info.max_input_tokens === 'number' && info.max_input_tokens > 0) return info.max_input_tokens;
  } catch {
    // The table answers below.
  }
  return WINDOWS.find(([prefix]) => model.startsWith(prefix))?.[1] ?? WINDOW_DEFAULT_TOKENS;
}
