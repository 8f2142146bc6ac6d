/** How much a model thinks before it answers, and what it shows of it. */
import type { ClaudeCall } from './reaction.ts';
import { type Block, isObject, type MessagesRequest } from './request.ts';

/** The values of `output_config.effort`, and how much is thought at each, times what is thought by default. */
export const EFFORTS = { low: 0.25, medium: 1, high: 2, xhigh: 4, max: 8 } as const;

/** How hard a request asks the model to try. */
export type Effort = keyof typeof EFFORTS;

/** The tokens of a thought at the default effort, for every call or for each. */
export type Thinks = number | ((call: ClaudeCall) => number);

/** What an answer begins with. */
export interface Thought {
  readonly tokens: number;
  /** A summary of it, empty where it is not displayed. */
  readonly text: string;
}

/** A thinking block that is not sealed yet: it still says how many tokens it has cost. */
export function thoughtBlock({ tokens, text }: Thought): Block {
  return { type: 'thinking', thinking: text, tokens };
}

/** The tokens of a block that `thoughtBlock` made; undefined for every other block. */
export function thoughtTokens(block: Block): number | undefined {
  return block.type === 'thinking' && typeof block.tokens === 'number' ? block.tokens : undefined;
}

/** Whether a request wants to read what is thought. */
export const isShown = ({ thinking }: MessagesRequest): boolean => thinking?.display === 'summarized';

/** The effort that a request asks for. Default: `medium`, as on Opus 5.5. */
export function effortOf({ output_config }: MessagesRequest): Effort {
  const effort = isObject(output_config) ? output_config.effort : undefined;
  return typeof effort === 'string' && Object.hasOwn(EFFORTS, effort) ? (effort as Effort) : 'medium';
}

/** What the model thinks on a call, undefined where it does not think. */
export function thoughtOn(call: ClaudeCall, thinks: Thinks | undefined): Thought | undefined {
  if (thinks === undefined) return undefined;
  const usual = typeof thinks === 'number' ? thinks : thinks(call);
  const tokens = Math.round(usual * EFFORTS[effortOf(call.body)]);
  if (tokens <= 0) return undefined;
  return { tokens, text: isShown(call.body) ? `It is about: ${call.pendingText.slice(0, 60).toWellFormed()}` : '' };
}
