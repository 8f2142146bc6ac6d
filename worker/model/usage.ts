import type { Usage } from './port.ts';

/** The counters of a call as the API names them; proxies omit any of them. */
export interface StatedUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  cache_creation?: { ephemeral_1h_input_tokens?: number | null } | null;
  output_tokens_details?: { thinking_tokens?: number | null } | null;
}

/** Reads what a call cost. What is not stated is absent, or 0 where a number must be. */
export function readUsage(stated: StatedUsage | null | undefined): Usage {
  const read = stated?.cache_read_input_tokens ?? 0;
  const written = stated?.cache_creation_input_tokens;
  const forAnHour = stated?.cache_creation?.ephemeral_1h_input_tokens;
  const thinking = stated?.output_tokens_details?.thinking_tokens;
  return {
    inputTokens: (stated?.input_tokens ?? 0) + read + (written ?? 0),
    outputTokens: stated?.output_tokens ?? 0,
    cacheReadTokens: read,
    ...(typeof written === 'number' && { cacheWriteTokens: written }),
    ...(typeof forAnHour === 'number' && { cacheWrite1hTokens: forAnHour }),
    ...(typeof thinking === 'number' && { thinkingTokens: thinking }),
  };
}

/** What two calls cost together. A part that neither of them states stays unstated. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum: Usage = {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  };
  for (const part of ['cacheWriteTokens', 'cacheWrite1hTokens', 'thinkingTokens'] as const)
    if (one[part] !== undefined || other[part] !== undefined) sum[part] = (one[part] ?? 0) + (other[part] ?? 0);
  return sum;
}

/** What a call cost in all, in tokens. */
export function totalTokens({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}
