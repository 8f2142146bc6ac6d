/** How much a model thinks before it answers. */
import type { ClaudeCall } from './reaction.ts';
import { type Block, isObject } from './request.ts';

/** The values of `output_config.effort`, and how much is thought at each, times what is thought without one. */
export const EFFORTS: Readonly<Record<string, number>> = { low: 0.25, medium: 1, high: 2, xhigh: 4, max: 8 };

/** The tokens of a thought at the default effort, for every call or for each. */
export type Thinks = number | ((call: ClaudeCall) => number);

/**
 * What the model thinks on a call, undefined where it does not think: a block that is not sealed yet, so that it still
 * says how many tokens it has cost. Its text is empty, since a gateway does not ask to read it.
 */
export function thoughtOn(call: ClaudeCall, thinks: Thinks | undefined): Block | undefined {
  if (thinks === undefined) return undefined;
  const usual = typeof thinks === 'number' ? thinks : thinks(call);
  const { output_config: config } = call.body;
  const effort = isObject(config) ? config.effort : undefined;
  const tokens = Math.round(usual * (EFFORTS[String(effort)] ?? 1));
  return tokens > 0 ? { type: 'thinking', thinking: '', tokens } : undefined;
}

/** The tokens of a block that `thoughtOn` made; undefined for every other block. */
export function thoughtTokens(block: Block): number | undefined {
  return block.type === 'thinking' && typeof block.tokens === 'number' ? block.tokens : undefined;
}
