/** The passes of a model that uses the tools of its server: each sees all that came before it, and each is billed. */
import type { InputUsage } from './cache.ts';
import { contentTokens } from './counting.ts';
import type { AnswerUsage } from './reaction.ts';
import type { Block } from './request.ts';
import { isServerResult } from './served.ts';

/** What one pass cost, as `usage.iterations` states it. */
export interface Pass extends InputUsage {
  type: 'message';
  model: string;
  output_tokens: number;
}

/** The passes of an answer: one behind each result of the server's tools, and one before the first. */
export function passesOf(content: readonly Block[], first: InputUsage, model: string, ratio: number): Pass[] {
  const passes: Pass[] = [];
  let input = first;
  let begin = 0;
  for (let at = 0; at <= content.length; at += 1) {
    const block = content[at];
    if (block !== undefined && !isServerResult(block)) continue;
    const output = contentTokens(content.slice(begin, at), ratio);
    passes.push({ type: 'message', model, ...input, output_tokens: output });
    const seen = inputTokens(input) + output;
    const added = block === undefined ? 0 : contentTokens([block], ratio);
    input = { ...first, input_tokens: added, cache_read_input_tokens: seen, cache_creation_input_tokens: 0 };
    input.cache_creation = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
    begin = at + 1;
  }
  return passes;
}

function inputTokens({ input_tokens, cache_read_input_tokens, cache_creation_input_tokens }: InputUsage): number {
  return input_tokens + cache_read_input_tokens + cache_creation_input_tokens;
}

/** The counters of an answer with several passes: their sum, which says nothing about the size of the conversation. */
export function summed(passes: readonly Pass[]): Pick<AnswerUsage, keyof InputUsage | 'output_tokens'> {
  const sum = (key: 'input_tokens' | 'cache_read_input_tokens' | 'output_tokens' | 'cache_creation_input_tokens') =>
    passes.reduce((total, pass) => total + pass[key], 0);
  return {
    input_tokens: sum('input_tokens'),
    cache_read_input_tokens: sum('cache_read_input_tokens'),
    cache_creation_input_tokens: sum('cache_creation_input_tokens'),
    cache_creation: passes[0]?.cache_creation ?? null,
    output_tokens: sum('output_tokens'),
  };
}
