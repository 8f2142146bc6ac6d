import type { Config } from '../shared/base/config.ts';
import { tokenizerFactor } from './model/catalog.ts';
import { estimateFixed, usableTokens } from './model/count.ts';
import { serverTools } from './tools/server-tools.ts';
import type { ToolSpec } from './tools/toolbox.ts';

/** What every request holds besides the tools that the gateway has itself. */
export interface Fixed {
  system: string;
  /** The tools of MCP servers, as far as they are known. */
  tools: readonly ToolSpec[];
}

/** What our own tools take, by our estimate; a test holds it to them. */
export const OWN_TOOLS_TOKENS = 900;
/** A short message with its header, and a few more after it. */
const FIRST_MESSAGES_TOKENS = 1_000;

/** What every request holds, in tokens of the model, by our estimate. Pure. */
export function fixedTokens({ MODEL, WEB_SEARCH, WEB_FETCH }: Config, { system, tools }: Fixed): number {
  const web = serverTools({ webSearch: WEB_SEARCH, webFetch: WEB_FETCH });
  return Math.ceil((estimateFixed({ system, tools, serverTools: web }) + OWN_TOOLS_TOKENS) * tokenizerFactor(MODEL));
}

/**
 * Why what every request holds leaves no room for a first message, in a sentence; `undefined` when it leaves some. The
 * window is the one that is known of the model, else the setting. Pure.
 */
export function roomProblem(config: Config, fixed: Fixed, windowTokens?: number): string | undefined {
  const { CONTEXT_BUDGET_TOKENS: budget, CONTEXT_WINDOW_TOKENS: stated, MAX_OUTPUT_TOKENS: output } = config;
  const window = stated ?? windowTokens ?? Number.POSITIVE_INFINITY;
  const taken = fixedTokens(config, fixed);
  const needed = taken + FIRST_MESSAGES_TOKENS;
  if (usableTokens(Math.min(window, budget), output) >= needed) return undefined;
  const limit =
    window < budget ? `The window of ${config.MODEL} is ${window} tokens` : `CONTEXT_BUDGET_TOKENS is ${budget}`;
  const remedy = window < budget ? 'choose a model with a larger one' : `set it to at least ${2 * needed}`;
  return `${limit}, but the system prompt and the tools take about ${taken} of them, and half is kept for answers: no message would fit. Shorten SYSTEM_PROMPT_FILE or the tools of MCP_CONFIG, or ${remedy}.`;
}
