import { compose, type OutputLimit } from './answer.ts';
import { type InputUsage, PrefixCache } from './cache.ts';
import { prefixTokens } from './counting.ts';
import { AnswerMemory } from './memory.ts';
import type { AnswerReaction, Begun, ClaudeCall } from './reaction.ts';
import type { Answer } from './reply.ts';
import { type Block, isServerSide, isThinking } from './request.ts';
import { fingerprints, segmentsOf } from './segments.ts';
import { type Thinks, thoughtOn, thoughtTokens } from './thought.ts';
import { type AnswerUsage, inputOf, passesOf, priceOf, summed } from './usage.ts';
import type { Grounds } from './violation.ts';

/** What a stand-in can be told about the model that it plays. */
export interface ModelOptions {
  /** The real window, which refuses what is longer. Default 200,000. */
  windowTokens?: number;
  /** The window that the models endpoint states. Default: the real one, as it is at that moment. */
  statedWindowTokens?: number;
  /** Whether the models endpoint states the limits; where not, they are null. Default `stated`. */
  limits?: 'stated' | 'null';
  /** Default 8192. */
  maxOutputTokens?: number;
  /** How many tokens this model's tokenizer makes for one of the plain one. Default 1. */
  ratio?: number;
  /** Bind thinking blocks to the prefix before them (rule 16): all, or those of the models in question. Default false. */
  bindThinking?: boolean | ((model: string) => boolean);
  /** Think before every answer, within `max_tokens`; the effort scales it. Default: it does not think. */
  thinks?: Thinks;
  /** The shortest prefix that the prompt cache keeps. Default 512 tokens, as on the 5 and 5.5 lines. */
  cache?: { minTokens: number };
  /** Whether `usage.iterations` states each pass of an answer with tools of the server. Default: only their sum is stated. */
  statesPasses?: boolean;
}

/** The model behind the API: its limits, its memory of what it said, and its prompt cache. */
export class StandInModel {
  /** The real window; set it to make the next calls overflow, or fit again. */
  windowTokens: number;
  /** The tokenizer's ratio; set it to swap the tokenizer. */
  ratio: number;
  readonly maxOutputTokens: number;
  readonly memory = new AnswerMemory();
  /** What the models endpoint states of a model's life, in its own words or in any others. A retired one answers no call. */
  readonly lives = new Map<string, { lifecycle?: unknown; deprecated_at?: unknown; retires_at?: unknown }>();
  readonly #options: ModelOptions;
  readonly #cache: PrefixCache;

  constructor(options: ModelOptions) {
    this.windowTokens = options.windowTokens ?? 200_000;
    this.maxOutputTokens = options.maxOutputTokens ?? 8192;
    this.ratio = options.ratio ?? 1;
    this.#options = options;
    this.#cache = new PrefixCache(options.cache?.minTokens ?? 512);
  }

  groundsFor(name: string): Grounds {
    const { maxOutputTokens, windowTokens, memory } = this;
    const { bindThinking = false } = this.#options;
    const binds = typeof bindThinking === 'boolean' ? bindThinking : bindThinking(name);
    return { maxOutputTokens, windowTokens, memory, bindThinking: binds };
  }

  /** Answers a sound call: composed, signed where it thinks, counted, and remembered by the prompt cache. */
  answer(reaction: AnswerReaction, call: ClaudeCall): Answer {
    const left = this.windowTokens - call.inputTokens;
    const limit =
      left < call.body.max_tokens
        ? { tokens: left, stopReason: 'model_context_window_exceeded' }
        : { tokens: call.body.max_tokens, stopReason: 'max_tokens' };
    const segments = segmentsOf(call.body);
    const input = this.#cache.account(segments, prefixTokens(segments, this.ratio), call.body.model);
    return this.#answer(call, reaction, limit, input);
  }

  /** The beginning of an answer that will not be completed. It is counted, but not cached. */
  fragment({ text, content = [{ type: 'text', text }] }: Begun, call: ClaudeCall): Answer {
    const limit = { tokens: Number.POSITIVE_INFINITY, stopReason: 'max_tokens' };
    return this.#answer(call, { do: 'answer', content }, limit, inputOf(call.inputTokens));
  }

  #issue(content: Block[], call: ClaudeCall): Block[] {
    const isOwn = content.some((block) => isThinking(block) || isServerSide(block));
    return isOwn ? this.memory.issue(content, fingerprints(segmentsOf(call.body)).at(-1) ?? '') : content;
  }

  #answer(call: ClaudeCall, reaction: AnswerReaction, limit: OutputLimit, input: InputUsage): Answer {
    const { model } = call.body;
    const composed = compose(reaction, call, limit, this.ratio, thoughtOn(call, this.#options.thinks));
    const thought = composed.content.reduce((sum, block) => sum + (thoughtTokens(block) ?? 0), 0);
    const said = composed.content.filter((block) => thoughtTokens(block) === undefined);
    const passes = passesOf(said, input, model, this.ratio);
    const sum = summed(passes);
    const usage: AnswerUsage = {
      ...sum,
      output_tokens: thought + sum.output_tokens,
      ...(this.#options.statesPasses && { iterations: passes }),
      output_tokens_details: thought > 0 ? { thinking_tokens: thought } : null,
      ...reaction.usage,
    };
    call.usd = priceOf(usage);
    const id = `msg_standin${String(call.index).padStart(14, '0')}`;
    return { id, model, content: this.#issue(composed.content, call), stopReason: composed.stopReason, usage };
  }

  card(id: string): Record<string, unknown> {
    const { limits, statedWindowTokens = this.windowTokens } = this.#options;
    const isStated = limits !== 'null';
    return {
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      max_input_tokens: isStated ? statedWindowTokens : null,
      max_tokens: isStated ? this.maxOutputTokens : null,
      ...this.lives.get(id),
    };
  }
}
