import { type Composed, compose, outputLimit } from './answer.ts';
import type { Grounds } from './breach.ts';
import { PrefixCache } from './cache.ts';
import { contentTokens, prefixTokens } from './counting.ts';
import { AnswerMemory, isThinking } from './memory.ts';
import type { ClaudeCall, Reaction } from './reaction.ts';
import type { Answer } from './reply.ts';
import { fingerprints, segmentsOf } from './segments.ts';

/** What a stand-in can be told about the model that it plays. */
export interface ModelOptions {
  /** The real window, which refuses what is longer. Default 200,000. */
  windowTokens?: number;
  /** The window that the models endpoint states. Default: the real one, as it is at that moment. */
  statedWindowTokens?: number;
  /** Default 8192. */
  maxOutputTokens?: number;
  /** How many tokens this model's tokenizer makes for one of the plain one. Default 1. */
  ratio?: number;
  /** Bind thinking blocks to the prefix that they were written after (rule 16). Default false. */
  bindThinking?: boolean;
  /** Refuse input + `max_tokens` over the window, as older models do (rule 20). Default false. */
  fitErrors?: boolean;
}

/** The model behind the API: its limits, its memory of what it said, and its prompt cache. */
export class StandInModel implements Grounds {
  windowTokens: number;
  statedWindowTokens: number | undefined;
  ratio: number;
  readonly maxOutputTokens: number;
  readonly bindThinking: boolean;
  readonly fitErrors: boolean;
  readonly memory = new AnswerMemory();
  readonly #cache = new PrefixCache();

  constructor(options: ModelOptions) {
    this.windowTokens = options.windowTokens ?? 200_000;
    this.statedWindowTokens = options.statedWindowTokens;
    this.maxOutputTokens = options.maxOutputTokens ?? 8192;
    this.ratio = options.ratio ?? 1;
    this.bindThinking = options.bindThinking ?? false;
    this.fitErrors = options.fitErrors ?? false;
  }

  /** Answers a sound call: composed, signed where it thinks, counted, and remembered by the prompt cache. */
  answer(reaction: Extract<Reaction, { do: 'answer' }>, call: ClaudeCall): Answer {
    const limit = outputLimit(call.body.max_tokens, call.inputTokens, this.windowTokens);
    const composed = compose(reaction, call, limit, this.ratio);
    const segments = segmentsOf(call.body);
    const input = this.#cache.account(segments, prefixTokens(segments, this.ratio));
    const output_tokens = contentTokens(composed.content, this.ratio);
    return this.#answer(
      call,
      { ...composed, content: this.#issue(composed, call) },
      { ...input, output_tokens },
      reaction,
    );
  }

  /** The beginning of an answer that will not be completed. It is counted, but neither cached nor remembered. */
  fragment(text: string, call: ClaudeCall): Answer {
    const content = [{ type: 'text', text }];
    const usage = {
      input_tokens: call.inputTokens,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      output_tokens: contentTokens(content, this.ratio),
    };
    return this.#answer(call, { content, stopReason: 'end_turn' }, usage, { do: 'answer' });
  }

  #issue({ content, stopReason }: Composed, call: ClaudeCall): Composed['content'] {
    if (!content.some(isThinking) && stopReason !== 'pause_turn') return content;
    return this.memory.issue(content, fingerprints(segmentsOf(call.body)).at(-1) ?? '', stopReason);
  }

  #answer(
    { index, body }: ClaudeCall,
    { content, stopReason }: Composed,
    usage: Answer['usage'],
    reaction: Extract<Reaction, { do: 'answer' }>,
  ): Answer {
    return {
      id: `msg_standin${String(index).padStart(14, '0')}`,
      model: body.model,
      content,
      stopReason,
      usage: { ...usage, ...reaction.usage },
    };
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
      line: null,
      capabilities: null,
      max_input_tokens: this.statedWindowTokens ?? this.windowTokens,
      max_tokens: this.maxOutputTokens,
    };
  }
}
