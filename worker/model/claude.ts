import Anthropic from '@anthropic-ai/sdk';
import type { ReachFailpoint } from '../../shared/failpoint.ts';
import type { Block } from '../session/record.ts';
import { classify, type Failure } from './classify.ts';
import type { WireRequest } from './contract.ts';
import { bindsThinking, windowTokensOf } from './family.ts';
import type { Model, ModelAnswer, ModelLimits, OnText } from './model.ts';
import { repairRequest } from './repair.ts';
import { wireRequest } from './request.ts';

export interface ClaudeOptions {
  apiKey: string;
  baseURL: string;
  /** Overrides what the endpoint states. */
  windowTokens?: number | undefined;
  /** Longest silence on a stream, the wait for its beginning included. */
  idleMs: number;
  reach: ReachFailpoint;
}

/** What the endpoint, or the table, says of a model. */
interface KnownModel {
  limits: ModelLimits;
  readAtMs: number;
}

type Sent = { ok: true; answer: ModelAnswer } | { ok: false; failure: Failure };

const LIMITS_KEEP_MS = 24 * 3600_000;
const LIMITS_TIMEOUT_MS = 10_000;

/**
 * The Messages API over the official SDK: streamed, without the SDK's retries (it would sleep for minutes inside a
 * job), and with a watchdog, since the SDK waits for ever on a stream that falls silent.
 */
export function createClaude(options: ClaudeOptions): Model {
  const client = new Anthropic({ apiKey: options.apiKey, baseURL: options.baseURL, maxRetries: 0, logLevel: 'off' });
  const models = new Map<string, KnownModel>();
  return {
    async send(request, signal, onText) {
      const facts = { bindsThinking: bindsThinking(request.model), ...outputLimit(models.get(request.model)) };
      const { request: wire, repairs } = repairRequest(wireRequest(request), facts);
      return { ...(await send(client, wire, options, signal, onText)), repairs };
    },
    async limits(model) {
      const known = models.get(model);
      if (known && Date.now() - known.readAtMs < LIMITS_KEEP_MS) return known.limits;
      const asked = await askLimits(client, model);
      const limits = { ...asked, windowTokens: options.windowTokens ?? asked.windowTokens };
      models.set(model, { limits, readAtMs: Date.now() });
      return limits;
    },
  };
}

async function send(
  client: Anthropic,
  request: WireRequest,
  { idleMs, reach }: ClaudeOptions,
  signal: AbortSignal,
  onText: OnText = () => {},
): Promise<Sent> {
  const watchdog = new AbortController();
  const either = AbortSignal.any([signal, watchdog.signal]);
  let timer = setTimeout(() => watchdog.abort(), idleMs);
  try {
    const stream = client.messages.stream(request as unknown as Parameters<typeof client.messages.stream>[0], {
      signal: either,
    });
    let written = '';
    stream.on('text', (words) => {
      written += words;
      onText(written);
    });
    stream.on('streamEvent', ({ type }) => {
      if (type === 'content_block_delta') reach('answer streaming');
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
      cacheReadTokens: usage.cache_read_input_tokens ?? 0,
    },
  };
}

/** Asks the endpoint. A 404 or any other failure is no error: many endpoints do not have this call. */
async function askLimits(client: Anthropic, model: string): Promise<ModelLimits> {
  const windowTokens = windowTokensOf(model);
  try {
    const info = await client.models.retrieve(model, {}, { timeout: LIMITS_TIMEOUT_MS });
    const maxOutputTokens = positive(info.max_tokens);
    return {
      windowTokens: positive(info.max_input_tokens) ?? windowTokens,
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    };
  } catch {
    return { windowTokens };
  }
}

function positive(value: number | null | undefined): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function outputLimit(known: KnownModel | undefined): { maxOutputTokens?: number } {
  const maxOutputTokens = known?.limits.maxOutputTokens;
  return maxOutputTokens === undefined ? {} : { maxOutputTokens };
}
