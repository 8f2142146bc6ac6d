import Anthropic from '@anthropic-ai/sdk';
import type { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import type { ReachFailpoint } from '../../../shared/base/failpoint.ts';
import type { Block } from '../block.ts';
import { bindsThinking, tokenizerFactor } from '../catalog.ts';
import { estimateRequest } from '../count.ts';
import { classify } from '../errors/classify.ts';
import type { Failure } from '../errors/failure.ts';
import { estimateText } from '../estimate.ts';
import { rememberLimits, type Stated, type StatedWindow } from '../limits.ts';
import { namedTool } from '../named-tool.ts';
import { statedOutputLimit } from '../output-limit.ts';
import type { FailedCall, Model, ModelAnswer, ModelLimits, ModelRequest, OnText, Usage } from '../port.ts';
import { repairRequest } from '../rules/repair.ts';
import type { WireRequest } from '../rules/rules.ts';
import { readUsage } from '../usage.ts';
import { openWire, type Wire } from './silence.ts';
import { wireRequest } from './wire-request.ts';

export interface ClaudeOptions {
  apiKey: string;
  baseURL: string;
  /** Overrides what the endpoint states, for this one model. */
  statedWindow?: StatedWindow | undefined;
  /** Longest silence on the wire, measured in bytes and not in events; includes the wait for the headers. */
  idleMs: number;
  reach: ReachFailpoint;
  now?: () => number;
}

/** The result of one call, and what the SDK threw where there is no answer. */
interface Sent {
  result: { ok: true; answer: ModelAnswer } | FailedCall;
  error?: unknown;
}

/** What has arrived of an answer so far. */
interface Draft {
  message: Anthropic.Message | undefined;
  /** All of its output: text, thinking, tool inputs. */
  written: string;
}

const STATED_KEEP_MS = 24 * 3600_000;
const LIMITS_TIMEOUT_MS = 10_000;
/** A smaller window is a mistake of the endpoint, and would make every message too long. */
const WINDOW_TOKENS_MIN = 1_000;

/**
 * The Messages API over the official SDK: streamed, without the SDK's retries (it would sleep for minutes inside a
 * job), and with a watch on the bytes, since the SDK waits for ever on a stream that falls silent. Undici itself ends a
 * silence of five minutes, so a longer `idleMs` has no effect.
 */
export function createClaude(options: ClaudeOptions): Model {
  const client = new Anthropic({ apiKey: options.apiKey, baseURL: options.baseURL, maxRetries: 0, logLevel: 'off' });
  const limits = rememberLimits((model) => askLimits(client, model), options.statedWindow, options.now);
  const unwanted = new Map<string, readonly Wish[]>();
  const outputLimits = new Map<string, number>();
  const withOutputLimit = (model: string, known: ModelLimits | undefined): Partial<ModelLimits> => {
    const limits = [known?.maxOutputTokens, outputLimits.get(model)].filter((tokens) => tokens !== undefined);
    return { ...known, ...(limits.length > 0 && { maxOutputTokens: Math.min(...limits) }) };
  };
  const sendOnce = async (request: ModelRequest, signal: AbortSignal, onText?: OnText) => {
    const { maxOutputTokens } = withOutputLimit(request.model, limits.known(request.model));
    const facts = { bindsThinking: bindsThinking(request.model), ...(maxOutputTokens && { maxOutputTokens }) };
    const { request: wire, repairs } = repairRequest(wireRequest(request), facts);
    const { result, error } = await new Call(request, options, signal, onText).send(client, wire);
    return { result: { ...result, repairs }, error };
  };
  return {
    async limits(model) {
      const known = await limits.of(model);
      return { ...known, ...withOutputLimit(model, known) };
    },
    async send(request, signal, onText) {
      const asked = without(request, unwanted.get(request.model) ?? []);
      const first = await sendOnce(asked, signal, onText);
      const outputLimit = statedOutputLimit(first.error);
      if (outputLimit !== undefined && outputLimit < asked.maxTokens) {
        const within = await sendOnce({ ...asked, maxTokens: outputLimit }, signal, onText);
        if (within.result.ok) outputLimits.set(request.model, outputLimit);
        return within.result;
      }
      const refused = WISHES.filter(({ key, named }) => asked[key] !== undefined && isRefused(first.error, named));
      if (refused.length === 0) return first.result;
      const keys = refused.map(({ key }) => key);
      const second = await sendOnce(without(asked, keys), signal, onText);
      // If it is refused without the option as well, the cause was something else.
      if (second.result.ok) unwanted.set(request.model, [...(unwanted.get(request.model) ?? []), ...keys]);
      return second.result;
    },
  };
}

/** One request in flight, with what its wire shows. */
class Call {
  readonly #request: ModelRequest;
  readonly #options: ClaudeOptions;
  readonly #signal: AbortSignal;
  readonly #onText: OnText;
  readonly #draft: Draft = { message: undefined, written: '' };

  constructor(request: ModelRequest, options: ClaudeOptions, signal: AbortSignal, onText: OnText = () => {}) {
    this.#request = request;
    this.#options = options;
    this.#signal = signal;
    this.#onText = onText;
  }

  async send(client: Anthropic, request: WireRequest): Promise<Sent> {
    const wire = openWire(this.#options.idleMs);
    const signal = AbortSignal.any([this.#signal, wire.silent]);
    try {
      const { messages } = client.withOptions({ fetch: wire.fetch });
      const stream = messages.stream(request as unknown as Parameters<typeof messages.stream>[0], { signal });
      this.#listen(stream);
      return { result: { ok: true, answer: answerOf(await stream.finalMessage()) } };
    } catch (error) {
      const spent = this.#spent(wire, error);
      return { result: { ok: false, failure: this.#failureOf(wire, error), ...(spent && { spent }) }, error };
    } finally {
      wire.close();
    }
  }

  #listen(stream: MessageStream<unknown>): void {
    let text = '';
    stream.on('text', (words) => {
      text += words;
      this.#onText(text);
    });
    stream.on('streamEvent', (event, message) => {
      this.#draft.message = message;
      // The SDK adds to the counters of the first event, which some proxies omit.
      message.usage ??= {} as Anthropic.Usage;
      if (event.type !== 'content_block_delta') return;
      this.#options.reach('answer streaming');
      this.#draft.written += wordsOf(event.delta);
    });
  }

  #failureOf(wire: Wire, error: unknown): Failure {
    if (this.#signal.aborted) return { kind: 'transient', reason: 'aborted' };
    if (wire.silent.aborted) return { kind: 'transient', reason: 'timeout' };
    const foreign = wire.foreign();
    if (foreign !== undefined && !this.#draft.message) return classifyForeign(foreign);
    const failure = classify(error);
    const tool = failure.kind === 'unknown' || failure.kind === 'poison' ? this.#namedTool(error) : undefined;
    return { ...failure, ...(tool !== undefined && { tool }) };
  }

  #namedTool(error: unknown): string | undefined {
    return namedTool(
      error,
      (this.#request.tools ?? []).map(({ name }) => name),
    );
  }

  /**
   * What a call without an answer is billed. A server that refused it, in a status or in its first event, bills
   * nothing; one that had taken it bills the input, and the output that it wrote.
   */
  #spent(wire: Wire, error: unknown): Usage | undefined {
    const { message, written } = this.#draft;
    const model = this.#request.model;
    if (message) {
      const stated = readUsage(message.usage);
      const outputTokens = Math.max(stated.outputTokens, Math.ceil(estimateText(written) * tokenizerFactor(model)));
      return { ...stated, inputTokens: stated.inputTokens || estimateRequest(this.#request), outputTokens };
    }
    const isRefused = error instanceof Anthropic.APIError && error.error !== undefined;
    if (!wire.isTaken() || isRefused) return undefined;
    return { inputTokens: estimateRequest(this.#request), outputTokens: 0, cacheReadTokens: 0 };
  }
}

/** What a request can do without. */
type Wish = 'effort' | 'cacheLifetime';

/** Older models and proxies reject these, or some forms of them; such a refusal costs nothing. */
const WISHES: readonly { key: Wish; named: RegExp }[] = [
  { key: 'effort', named: /output_config|\beffort\b/i },
  { key: 'cacheLifetime', named: /cache_control\S{0,40}ttl|\bttl\b/i },
];

function isRefused(error: unknown, named: RegExp): boolean {
  const isClients = error instanceof Anthropic.APIError && (error.status === 400 || error.status === 422);
  return isClients && named.test(error.message);
}

function without(request: ModelRequest, keys: readonly Wish[]): ModelRequest {
  const { effort, cacheLifetime, ...plain } = request;
  return {
    ...plain,
    ...(effort !== undefined && !keys.includes('effort') && { effort }),
    ...(cacheLifetime !== undefined && !keys.includes('cacheLifetime') && { cacheLifetime }),
  };
}

function wordsOf(delta: Anthropic.RawContentBlockDelta): string {
  if (delta.type === 'text_delta') return delta.text;
  if (delta.type === 'thinking_delta') return delta.thinking;
  return delta.type === 'input_json_delta' ? delta.partial_json : '';
}

/**
 * A page or plain JSON instead of a stream: an error that came with a 200, or the wrong server. The text is classified
 * only where it is shaped like an error, since a message holds what people and models wrote.
 */
function classifyForeign(body: string): Failure {
  const failure = isErrorBody(body) ? classify(JSON.parse(body)) : undefined;
  return failure === undefined || failure.reason === 'unknown'
    ? { kind: 'transient', reason: 'server_error' }
    : failure;
}

function isErrorBody(body: string): boolean {
  try {
    const { error, detail, message, content, choices } = JSON.parse(body);
    const isWorded = error !== undefined || typeof detail === 'string' || typeof message === 'string';
    return isWorded && content === undefined && choices === undefined;
  } catch {
    return false;
  }
}

function answerOf(message: Anthropic.Message): ModelAnswer {
  return {
    // A copy, since the SDK parses a tool's input only when it is read, and throws if it cannot.
    content: message.content.map((block) => ({ ...block })) as unknown as readonly Block[],
    text: message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
    stopReason: message.stop_reason,
    model: message.model,
    usage: readUsage(message.usage),
  };
}

/** Asks the endpoint; rejects when it cannot be asked. Many endpoints lack this call, which counts as an answer. */
async function askLimits(client: Anthropic, model: string): Promise<Stated> {
  try {
    const info = await client.models.retrieve(model, {}, { timeout: LIMITS_TIMEOUT_MS });
    const [windowTokens, maxOutputTokens] = [
      atLeast(WINDOW_TOKENS_MIN, info.max_input_tokens),
      atLeast(1, info.max_tokens),
    ];
    const limits = { ...(windowTokens && { windowTokens }), ...(maxOutputTokens && { maxOutputTokens }) };
    return { limits, keepMs: STATED_KEEP_MS };
  } catch (error) {
    if (error instanceof Anthropic.NotFoundError) return { limits: {}, keepMs: STATED_KEEP_MS };
    throw error;
  }
}

function atLeast(min: number, value: number | null | undefined): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= min ? Number(value) : undefined;
}
