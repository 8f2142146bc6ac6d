/** What an answer costs, in tokens and in US dollars. */
import type { InputUsage } from './cache.ts';
import { contentTokens } from './counting.ts';
import { type Block, isServerResult } from './request.ts';

/** What one pass of the model cost, as `usage.iterations` states it. */
export interface Pass extends InputUsage {
  type: 'message';
  model: string;
  output_tokens: number;
}

/** An answer's usage counters, as the API names them. */
export interface AnswerUsage extends Omit<InputUsage, 'cache_creation'> {
  cache_creation?: InputUsage['cache_creation'] | null;
  output_tokens: number;
  output_tokens_details?: { thinking_tokens: number } | null;
  server_tool_use?: { web_search_requests: number; web_fetch_requests: number } | null;
  /** Each pass of the model, where the endpoint states them. */
  iterations?: readonly Pass[] | null;
}

/** The counters of an input of which nothing is cached but what was read. */
export const inputOf = (plain: number, read = 0): InputUsage => ({
  input_tokens: plain,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
});

/** The passes of a model with tools of the server: each reads, and bills, all before it. One follows each result. */
export function passesOf(content: readonly Block[], first: InputUsage, model: string, ratio: number): Pass[] {
  const ends = content.flatMap((block, at) => (isServerResult(block) ? [at] : []));
  let input = first;
  let begin = 0;
  return [...ends, content.length].map((end) => {
    const output_tokens = contentTokens(content.slice(begin, end), ratio);
    const pass: Pass = { type: 'message', model, ...input, output_tokens };
    const seen = input.input_tokens + input.cache_read_input_tokens + input.cache_creation_input_tokens;
    input = inputOf(contentTokens(content.slice(end, end + 1), ratio), seen + output_tokens);
    begin = end + 1;
    return pass;
  });
}

const COUNTERS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'] as const;

/** The counters of an answer: the sum of its passes, which says nothing about the size of the conversation. */
export function summed(passes: readonly Pass[]): AnswerUsage {
  const sums = COUNTERS.map((key) => [key, passes.reduce((total, pass) => total + pass[key], 0)]);
  return { ...Object.fromEntries(sums), cache_creation: passes[0]?.cache_creation ?? null };
}

/** The list prices of Claude Opus 5.5, as documented in November 2026, for a million tokens; a search has its own. */
const USD = { input: 4, output: 20, cacheRead: 0.2, cacheWrite5m: 5, cacheWrite1h: 8 };
const SEARCH_USD = 0.01;

/** The price of one call. Thinking is part of the output; what was written to the cache is not part of the input. */
export function priceOf(usage: AnswerUsage): number {
  const hour = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0;
  const sum =
    usage.input_tokens * USD.input +
    usage.cache_read_input_tokens * USD.cacheRead +
    (usage.cache_creation_input_tokens - hour) * USD.cacheWrite5m +
    hour * USD.cacheWrite1h +
    usage.output_tokens * USD.output;
  return sum / 1_000_000 + (usage.server_tool_use?.web_search_requests ?? 0) * SEARCH_USD;
}
