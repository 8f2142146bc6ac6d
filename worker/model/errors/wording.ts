import type { Evidence } from './evidence.ts';
import * as overflowed from './overflow-patterns.ts';
import { holds, type Rule } from './overflow-patterns.ts';

/** Whether one of the rules holds for what the error says. */
export function says(error: Evidence, rules: readonly Rule[]): boolean {
  return rules.some((rule) => holds(rule, error.sentences, error.plain));
}

/** Whether the error says that the input has too many tokens, in words or in numbers. */
export function isOverflow(error: Evidence): boolean {
  return says(error, overflowed.PROMPT_TOO_LONG) || statesExcess(error);
}

/** It names a count of what we sent and a smaller limit, and both are tokens of the input. */
export function statesExcess({ sizes, plain }: Evidence): boolean {
  return sizes.observed !== undefined && sizes.limit !== undefined && overflowed.isAboutInputTokens(plain);
}

/** An error without status or envelope must look like one: short, to the point, and not a person speaking. */
export function isErrorShaped(error: Evidence): boolean {
  return error.structured || !overflowed.isProse(error.plain, error.firstSentence, statesExcess(error));
}
