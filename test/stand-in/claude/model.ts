import { type Composed, compose, type OutputLimit, outputLimit } from './answer.ts';
import { type CacheOptions, type InputUsage, PrefixCache, roomsOf } from './cache.ts';
import { contentTokens, prefixTokens } from './counting.ts';
import { AnswerMemory, isThinking } from './memory.ts';
import { passesOf, summed } from './passes.ts';
import { OPUS_5_5_PRICES, type Prices, priceOf } from './prices.ts';
import type { AnswerUsage, Begun, ClaudeCall, Reaction } from './reaction.ts';
import type { Answer } from './reply.ts';
import type { Block } from './request.ts';
import { fingerprints, segmentsOf } from './segments.ts';
import { isServerSide } from './served.ts';
import { type Thinks, thoughtOn, thoughtTokens } from './thought.ts';
import type { Grounds } from './violation.ts';

/** What a stand-in can be told about the model that it plays. */
export interface ModelOptions {
  /** The real window, which refuses what is longer. Default 200,000. */
  windowTokens?: number;
  /** The window that the models endpoint states. Default: the real one, as it is at that moment. */
  statedWindowTokens?: number;
  /** Whether the models endpoint states the limits; where not, they are null, or not there at all. Default `stated`. */
  limits?: 'stated' | 'null' | 'absent';
  /** Default 8192. */
  maxOutputTokens?: number;
  /** How many tokens this model's tokenizer makes for one of the plain one. Default 1. */
  ratio?: number;
  /**
   * Bind thinking blocks to the prefix that they were written after (rule 16): all of them, or those of the models
   * that it answers true for. Default false.
   */
  bindThinking?: boolean | ((model: string) => boolean);
  /**
   * Think before every answer, so many tokens at the default effort; `output_config.effort` scales it. It counts in
   * `max_tokens`. A budget for it is refused, and so are a ban and a forced tool, as by Opus 5.5. Default: it does not think.
   */
  thinks?: Thinks;
  /** Refuse input + `max_tokens` over the window, as older models do (rule 20). Default false. */
  fitErrors?: boolean;
  /** The prompt cache: the least prefix that it keeps (default 512 tokens) and its clock. */
  cache?: CacheOptions;
  /** Whether `usage.iterations` states each pass of an answer with tools of the server. Default: only their sum is stated. */
  statesPasses?: boolean;
  /** What calls cost. Default: the list prices of Opus 5.5. */
  prices?: Prices;
}

/** What the models endpoint says of a model's life, in its own words or in any others. */
export interface StatedLife {
  lifecycle?: unknown;
  deprecated_at?: unknown;
  retires_at?: unknown;
}

type AnswerReaction = Extract<Reaction, { do: 'answer' }>;

/** The shortest prefix that the 5 and 5.5 lines keep. */
const CACHE_TOKENS_MIN = 512;

const NO_DETAILS = { type: 'refusal', category: null, explanation: null };

const uncached = (tokens: number): InputUsage => ({
  input_tokens: tokens,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
});

/** The model behind the API: its limits, its memory of what it said, and its prompt cache. */
export class StandInModel {
  windowTokens: number;
  statedWindowTokens: number | undefined;
  ratio: number;
  readonly maxOutputTokens: number;
  readonly #binds: (model: string) => boolean;
  readonly fitErrors: boolean;
  readonly memory = new AnswerMemory();
  readonly thinks: boolean;
  readonly #thinks: Thinks | undefined;
  /** What is stated of models that are not active. A retired one answers no call. */
  readonly lives = new Map<string, StatedLife>();
  readonly #prices: Prices;
  readonly #statesPasses: boolean;
  readonly #limits: ModelOptions['limits'];
  readonly #cache: PrefixCache;

  constructor(options: ModelOptions) {
    this.windowTokens = options.windowTokens ?? 200_000;
    this.statedWindowTokens = options.statedWindowTokens;
    this.maxOutputTokens = options.maxOutputTokens ?? 8192;
    this.ratio = options.ratio ?? 1;
    const { bindThinking = false } = options;
    this.#binds = typeof bindThinking === 'boolean' ? () => bindThinking : bindThinking;
    this.fitErrors = options.fitErrors ?? false;
    this.#limits = options.limits;
    this.#thinks = options.thinks;
    this.thinks = options.thinks !== undefined;
    this.#prices = options.prices ?? OPUS_5_5_PRICES;
    this.#statesPasses = options.statesPasses ?? false;
    this.#cache = new PrefixCache({ minTokens: CACHE_TOKENS_MIN, ...options.cache });
  }

  /** What a request for that model is judged by. */
  groundsFor(name: string): Grounds {
    const { maxOutputTokens, windowTokens, fitErrors, thinks, memory } = this;
    return { maxOutputTokens, windowTokens, fitErrors, thinks, memory, bindThinking: this.#binds(name) };
  }

  /** Answers a sound call: composed, signed where it thinks, counted, and remembered by the prompt cache. */
  answer(reaction: AnswerReaction, call: ClaudeCall): Answer {
    const limit = outputLimit(call.body.max_tokens, call.inputTokens, this.windowTokens);
    const composed = this.#compose(reaction, call, limit);
    const segments = segmentsOf(call.body);
    const input = this.#cache.account(segments, prefixTokens(segments, this.ratio), roomsOf(call.body));
    return this.#answer(call, composed, input, reaction);
  }

  /** The beginning of an answer that will not be completed. It is counted, but not cached. */
  fragment({ text, content = [{ type: 'text', text }] }: Begun, call: ClaudeCall): Answer {
    const limit = { tokens: Number.POSITIVE_INFINITY, stopReason: 'max_tokens' };
    const reaction: AnswerReaction = { do: 'answer', content };
    const composed = this.#compose(reaction, call, limit);
    return this.#answer(call, composed, uncached(call.inputTokens), reaction);
  }

  #compose(reaction: AnswerReaction, call: ClaudeCall, limit: OutputLimit): Composed {
    return compose(reaction, call, limit, this.ratio, thoughtOn(call, this.#thinks));
  }

  #issue({ content, stopReason }: Composed, call: ClaudeCall): Block[] {
    const isOwn = content.some((block) => isThinking(block) || isServerSide(block));
    if (!isOwn && stopReason !== 'pause_turn') return content;
    const prefix = fingerprints(segmentsOf(call.body)).at(-1) ?? '';
    return this.memory.issue(content, prefix, stopReason);
  }

  #answer(call: ClaudeCall, composed: Composed, input: InputUsage, reaction: AnswerReaction): Answer {
    const { content, stopReason } = composed;
    const thought = content.reduce((sum, block) => sum + (thoughtTokens(block) ?? 0), 0);
    const said = content.filter((block) => thoughtTokens(block) === undefined);
    const passes = passesOf(said, input, call.body.model, this.ratio);
    const sum = passes.length > 1 ? summed(passes) : { ...input, output_tokens: contentTokens(said, this.ratio) };
    const counted: AnswerUsage = {
      ...sum,
      output_tokens: thought + sum.output_tokens,
      ...(this.#statesPasses && { iterations: passes }),
      output_tokens_details: thought > 0 ? { thinking_tokens: thought } : null,
    };
    const usage = { ...counted, ...reaction.usage };
    call.usd = priceOf(usage, this.#prices);
    return {
      id: `msg_standin${String(call.index).padStart(14, '0')}`,
      model: call.body.model,
      content: this.#issue(composed, call),
      stopReason,
      stopDetails: stopReason === 'refusal' ? { ...NO_DETAILS, ...reaction.stopDetails } : null,
      usage,
    };
  }

  #statedLimits(): Record<string, number | null> {
    if (this.#limits === 'absent') return {};
    if (this.#limits === 'null') return { max_input_tokens: null, max_tokens: null };
    return { max_input_tokens: this.statedWindowTokens ?? this.windowTokens, max_tokens: this.maxOutputTokens };
  }

  /** What the models endpoint says about a model. */
  card(id: string): Record<string, unknown> {
    return {
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
      capabilities: null,
      ...this.#statedLimits(),
      ...this.lives.get(id),
    };
  }
}
