import { readEvidence } from './errors/evidence.ts';

/** What an error calls the output that was asked for. */
const ABOUT_OUTPUT = /max (?:new |completion |output )?tokens|(?:output|completion) tokens/;
/** "16000 > 8192, which is the maximum allowed number of output tokens", "supports at most 16384 completion tokens". */
const LIMIT =
  /(?:> ?|<= ?|at most |up to |(?:limit|maximum|max|lower) (?:value )?(?:of|is|than)(?: the)? |(?:less|lower) than or equal to |limit )(\d{3,7})(?![\d.]| ?>)/;
/** The window, a rate and an account have limits of their own. */
const NOT_A_LIMIT = /context|input|prompt|per (?:second|minute|hour|day|week|month)|rate|quota|credit|plan\b|afford/;
const OUTPUT_TOKENS_MIN = 256;

/**
 * The most output that a model gives, where an error says that more was requested. Only a client error counts, and none
 * that is about the window. Pure; never throws, whatever the error is.
 */
export function statedOutputLimit(error: unknown): number | undefined {
  const { status, plain } = readEvidence(error, Date.now);
  if ((status !== 400 && status !== 422) || !ABOUT_OUTPUT.test(plain) || NOT_A_LIMIT.test(plain)) {
    return undefined;
  }
  const stated = Number(LIMIT.exec(plain)?.[1]);
  return stated >= OUTPUT_TOKENS_MIN ? stated : undefined;
}
