/** What calls cost, in US dollars. */
import type { AnswerUsage } from './reaction.ts';

/** US dollars for a million tokens of each kind. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
}

/** The list prices of Claude Opus 5.5, as documented in November 2026. */
export const OPUS_5_5_PRICES: Prices = { input: 4, output: 20, cacheRead: 0.2, cacheWrite5m: 5, cacheWrite1h: 8 };

const PER = 1_000_000;
/** A search of the web; to read a page costs nothing but its tokens. */
const PER_SEARCH = 0.01;

/** The price of one call. Thinking is part of the output; what was written to the cache is not part of the input. */
export function priceOf(usage: AnswerUsage, prices: Prices = OPUS_5_5_PRICES): number {
  const hour = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0;
  const sum =
    usage.input_tokens * prices.input +
    usage.cache_read_input_tokens * prices.cacheRead +
    (usage.cache_creation_input_tokens - hour) * prices.cacheWrite5m +
    hour * prices.cacheWrite1h +
    usage.output_tokens * prices.output;
  return sum / PER + (usage.server_tool_use?.web_search_requests ?? 0) * PER_SEARCH;
}
