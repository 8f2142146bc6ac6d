/**
 * The rules of the API contract, as far as a request alone shows them. Pure: the same request on the same grounds
 * breaks the same rule, and only the first violation is told, as the API does it.
 *
 * Rules 19 and 20 depend on the tokenizer and are asked for apart, since to meet them is nobody's mistake: a client
 * cannot know the real window.
 */

import { checkBreakpoints } from './breakpoints.ts';
import { checkMedia } from './media.ts';
import { checkCalls, checkResults, checkUniqueCalls } from './pairs.ts';
import type { MessagesRequest } from './request.ts';
import { checkServed } from './served.ts';
import { checkShape } from './shape.ts';
import { checkSteering } from './steering.ts';
import { checkBinding, checkLatestThinking, checkThinkingEnd } from './thinking.ts';
import { checkAlternation, checkContent, checkEnd, checkSides, checkStart, checkTexts, checkUnicode } from './turns.ts';
import { firstOf, type Grounds, type Violation, violation } from './violation.ts';

/** Rule 18: the longest body, serialised. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Rule 18. It is told by the edge, before the API has read anything. */
export function bodyViolation(): Violation {
  return { rule: 18, status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' };
}

/** Rule 17, for a body that is no JSON text at all. */
export function unreadableViolation(why: string): Violation {
  return violation(17, `The request body is not valid JSON: ${why}`);
}

function checkMaxTokens(request: MessagesRequest, { maxOutputTokens }: Grounds): Violation | undefined {
  const { max_tokens, model } = request;
  if (!Number.isInteger(max_tokens)) return violation(21, 'max_tokens: Input should be a valid integer');
  if (max_tokens < 1) return violation(21, 'max_tokens: Input should be greater than or equal to 1');
  return max_tokens > maxOutputTokens
    ? violation(
        21,
        `max_tokens: ${max_tokens} > ${maxOutputTokens}, which is the maximum allowed number of output tokens for ${model}`,
      )
    : undefined;
}

type Check = (request: MessagesRequest, grounds: Grounds) => Violation | undefined;

/** In the order in which the API notices: what is cheap and local comes before what looks across messages. */
const CHECKS: readonly Check[] = [
  checkMaxTokens,
  checkSteering,
  checkBreakpoints,
  checkStart,
  checkContent,
  checkTexts,
  checkSides,
  checkAlternation,
  checkUniqueCalls,
  checkResults,
  checkCalls,
  checkServed,
  checkEnd,
  checkThinkingEnd,
  checkLatestThinking,
  checkBinding,
  checkMedia,
];

/** The first rule of 1 to 17 and 21 to 29 that a parsed body breaks. Without one, the body is a `MessagesRequest`. */
export function firstViolation(body: unknown, grounds: Grounds): Violation | undefined {
  return checkUnicode(body) ?? checkShape(body) ?? firstOf(CHECKS, (check) => check(body as MessagesRequest, grounds));
}

/** Rules 19 and 20: whether so many input tokens leave room in the window. */
export function windowViolation(inputTokens: number, maxTokens: number, grounds: Grounds): Violation | undefined {
  const { fitErrors, windowTokens } = grounds;
  if (inputTokens > windowTokens) return overflowViolation(inputTokens, windowTokens);
  return fitErrors && inputTokens + maxTokens > windowTokens
    ? violation(
        20,
        `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxTokens} > ${windowTokens}, decrease input length or \`max_tokens\` and try again`,
      )
    : undefined;
}

/** Rule 19, with the numbers that it states. */
export function overflowViolation(observedTokens: number, limitTokens: number): Violation {
  return violation(19, `prompt is too long: ${observedTokens} tokens > ${limitTokens} maximum`);
}
