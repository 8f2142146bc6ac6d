import { type Evidence, field, isServerStatus, readEvidence } from './evidence.ts';
import type { Failure, FailureClass } from './failure.ts';
import * as failed from './failure-patterns.ts';
import * as overflowed from './overflow-patterns.ts';
import { holds, type Rule } from './overflow-patterns.ts';

/** A wait that an endpoint asks for is obeyed up to this. Beyond it our own backoff asks again. */
export const ASKED_WAIT_MS_MAX = 3_600_000;

/** The size of an answer, as the answer states it. */
export interface AnswerUsage {
  stopReason: string | null;
  /** Whether it has neither words nor calls of tools. */
  isEmpty: boolean;
  outputTokens: number;
  /** Input, cache reads and cache writes of one pass together; undefined where it is not known. */
  inputTokens: number | undefined;
  windowTokens: number;
}

/**
 * Asked in this order; the first that returns a class decides. Each looks at types and status first, at text second.
 */
const STAGES: readonly ((error: Evidence) => FailureClass | undefined)[] = [
  whenConnectionFailed,
  whenDenied,
  whenThrottled,
  whenServerFailed,
  whenMalformed,
  whenMediaRejected,
  whenBodyTooLarge,
  whenOutputDoesNotFit,
  whenPromptTooLong,
  whenRejected,
  whenBroken,
];

/**
 * Classifies a failed model call; the only place that does. Accepts anything: what the SDK throws, the body of an SSE
 * `error` event, a plain string from an error channel, null. Total: it never throws and always returns a legal kind;
 * what it cannot read is `transient`/`unknown`, which bounded attempts end. Contract: never given the text of a chat or
 * of an answer, which may quote an error.
 */
export function classify(error: unknown): Failure {
  try {
    const evidence = readEvidence(error);
    for (const stage of STAGES) {
      const found = stage(evidence);
      if (found !== undefined) return withFacts(found, evidence);
    }
  } catch {
    // A hostile object can still throw where no read was expected; it must not take the turn down with it.
  }
  return { kind: 'transient', reason: 'unknown' };
}

/**
 * Classifies a call that returned an answer: an overflow that the provider did not report, or a refusal.
 * `model_context_window_exceeded` is not a failure: the answer is valid, and cut. Nor is an answer that says something,
 * whatever its usage states: it was billed, and somebody waits for it.
 */
export function classifyAnswer(answer: AnswerUsage): Failure | undefined {
  const stopReason = field(answer, 'stopReason');
  const [input, window] = [Number(field(answer, 'inputTokens')), Number(field(answer, 'windowTokens'))];
  if (stopReason === 'model_context_window_exceeded') return undefined;
  if (stopReason === 'refusal') return { kind: 'refusal', reason: 'refused' };
  if (field(answer, 'isEmpty') !== true) return undefined;
  const leftNoRoom = stopReason === 'max_tokens' && field(answer, 'outputTokens') === 0 && input >= window * 0.99;
  if (!(window > 0) || !(input > window || leftNoRoom)) return undefined;
  return { kind: 'token', reason: 'silent_overflow', observedTokens: input, limitTokens: window };
}

function withFacts(
  found: FailureClass,
  { status, requestId, path, sizes, retryAfterMs, resetMs, rateTokens }: Evidence,
): Failure {
  const isAboutSize = found.kind === 'token' || found.kind === 'fit';
  const isThrottled = found.reason === 'rate_limited';
  const askedMs = found.kind === 'transient' ? (retryAfterMs ?? (isThrottled ? resetMs : undefined)) : undefined;
  const facts = {
    status,
    requestId,
    path,
    ...(askedMs !== undefined && obeyedWait(askedMs)),
    rateTokens: isThrottled ? rateTokens : undefined,
    ...(isAboutSize && { observedTokens: sizes.observed, limitTokens: sizes.limit, outputTokens: sizes.output }),
  };
  return { ...found, ...Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined)) };
}

/** A wait that is asked for, as far as it is obeyed. */
export function obeyedWait(askedMs: number): Pick<Failure, 'retryAfterMs' | 'longWaitMs'> {
  return askedMs <= ASKED_WAIT_MS_MAX ? { retryAfterMs: askedMs } : { longWaitMs: askedMs };
}

/** Whether one of the rules holds for what the error says. */
function says(error: Evidence, rules: readonly Rule[]): boolean {
  return rules.some((rule) => holds(rule, error.sentences, error.plain));
}

/** Whether the error says that the input has too many tokens, in words or in numbers. */
function isOverflow(error: Evidence): boolean {
  return says(error, overflowed.PROMPT_TOO_LONG) || statesExcess(error);
}

/** It names a count of what we sent and a smaller limit, and both are tokens of the input. */
function statesExcess({ sizes, plain }: Evidence): boolean {
  return sizes.observed !== undefined && sizes.limit !== undefined && overflowed.isAboutInputTokens(plain);
}

/** No answer came: the connection failed, or one of us ended it. */
function whenConnectionFailed({ status, labels, structured }: Evidence): FailureClass | undefined {
  if (status !== undefined) return undefined;
  if (/^(?:apiuser )?abort error$/m.test(labels)) return { kind: 'transient', reason: 'aborted' };
  if (/timeout error$|etimedout|err (?:headers|body|connect) timeout/m.test(labels))
    return { kind: 'transient', reason: 'timeout' };
  // The SDK also uses its connection error for a body whose status it lost; that body is classified like any other.
  const isConnection =
    /^apiconnection error$|econnre|enotfound|eai again|epipe|e(?:host|net)unreach|err socket|cert/m.test(labels);
  return isConnection && !structured ? { kind: 'transient', reason: 'network' } : undefined;
}

/**
 * Only a status of its own, or the API's own type, certainly concerns the operator's account. A guardrail may mention
 * keys and billing because a user wrote about them, and a proxy may quote them.
 */
function whenDenied(error: Evidence): FailureClass | undefined {
  const { status, labels } = error;
  if (status === 401 || /^authentication error$/m.test(labels)) return { kind: 'terminal', reason: 'authentication' };
  if (status === 402 || /^billing error$/m.test(labels)) return { kind: 'terminal', reason: 'billing' };
  if (isServerStatus(status) || says(error, overflowed.LONG_CONTEXT_GATE)) return undefined;
  // A quota that states when it opens again is a throttle, whatever page it links to.
  const opensAgain = status === 429 && (error.retryAfterMs !== undefined || says(error, failed.TRY_LATER));
  const kind = status === 429 || !error.structured ? 'terminal' : 'unknown';
  if (says(error, failed.BILLING) && !opensAgain) return { kind, reason: 'billing' };
  if (status === 429) return undefined;
  if (says(error, failed.AUTHENTICATION)) return { kind, reason: 'authentication' };
  // A firewall's page speaks of access as well, but what it does not let through is the request.
  if (says(error, failed.PERMISSION) && !error.isPage) return { kind, reason: 'permission' };
  return status === 403 ? { kind, reason: 'refused' } : undefined;
}

/** The account asks too much of the endpoint for now, unless what it throttles is the size of this one request. */
function whenThrottled(error: Evidence): FailureClass | undefined {
  if (says(error, overflowed.LONG_CONTEXT_GATE)) return { kind: 'token', reason: 'prompt_too_long' };
  const worded = says(error, failed.RATE_LIMITED);
  if (!worded && error.status !== 429) return undefined;
  if (worded && mentionsThrottleInPassing(error)) return undefined;
  if (worded ? overflowed.exceedsWholeBudget(error.plain) : statesExcess(error))
    return { kind: 'token', reason: 'rate_below_size' };
  return { kind: 'transient', reason: 'rate_limited' };
}

/** An overflow stated in one sentence, and advice about rate limits in another. */
function mentionsThrottleInPassing(error: Evidence): boolean {
  if (error.status === 429 || /rate limit/.test(error.labels)) return false;
  const others = error.sentences.filter(
    (sentence) => !failed.RATE_LIMITED.some((rule) => holds(rule, [sentence], sentence)),
  );
  return says({ ...error, sentences: others }, overflowed.PROMPT_TOO_LONG);
}

/** The trouble is the server's own: overloaded, too slow, failed. */
function whenServerFailed(error: Evidence): FailureClass | undefined {
  const { status, labels } = error;
  const isTheirs = status === undefined || isServerStatus(status) || status === 408 || status === 409;
  if (!isTheirs && !/^overloaded error$/m.test(labels)) return undefined;
  if (isOverflow(error) || says(error, overflowed.BODY_TOO_LARGE)) return undefined;
  if (status === 529 || says(error, failed.OVERLOADED)) return { kind: 'transient', reason: 'overloaded' };
  if (status === 408 || status === 504) return { kind: 'transient', reason: 'timeout' };
  if (status !== undefined || says(error, failed.SERVER_ERROR)) return { kind: 'transient', reason: 'server_error' };
  return undefined;
}

/** Only a text: a call that broke on the way, or a bug of our own. */
function whenBroken(error: Evidence): FailureClass | undefined {
  if (error.status !== undefined) return { kind: 'transient', reason: 'server_error' };
  if (error.plain.trim() === '') return { kind: 'transient', reason: 'unknown' };
  if (says(error, failed.TRY_LATER)) return { kind: 'transient', reason: 'rate_limited' };
  if (says(error, failed.TIMED_OUT)) return { kind: 'transient', reason: 'timeout' };
  if (says(error, failed.CUT_STREAM)) return { kind: 'transient', reason: 'cut_stream' };
  if (/\babort(?:ed)?\b/.test(error.plain)) return { kind: 'transient', reason: 'aborted' };
  if (says(error, failed.NETWORK)) return { kind: 'transient', reason: 'network' };
  if (says(error, failed.SOME_TROUBLE)) return { kind: 'transient', reason: 'server_error' };
  return { kind: 'transient', reason: 'unknown' };
}

/** The structure of the history is not taken, or its thinking. */
function whenMalformed(error: Evidence): FailureClass | undefined {
  if (statesExcess(error)) return undefined;
  if (says(error, failed.THINKING_SIGNATURE)) return { kind: 'poison', reason: 'thinking_signature' };
  return says(error, failed.STRUCTURE) ? { kind: 'poison', reason: 'structure' } : undefined;
}

/** A picture or a file is not taken. */
function whenMediaRejected(error: Evidence): FailureClass | undefined {
  const mediaPath = /messages[.[]\d{1,6}\S{0,40}\.(?:image|document|pdf)\b/.test(error.plain);
  if (!mediaPath && !says(error, overflowed.MEDIA_REJECTED)) return undefined;
  const isSize = /exceed|too (?:large|big|many|long)|maximum|dimension|resize|\d ?px|at most/.test(error.plain);
  return { kind: 'media', reason: isSize ? 'media_too_large' : 'media_unreadable' };
}

/** The request has too many bytes. */
function whenBodyTooLarge(error: Evidence): FailureClass | undefined {
  const aboutBytes = says(error, overflowed.BODY_TOO_LARGE);
  if (!aboutBytes && error.status !== 413) return undefined;
  const aboutTokens =
    isOverflow(error) || says(error, overflowed.TOO_MANY_TOKENS) || (!aboutBytes && says(error, overflowed.SEND_LESS));
  return aboutTokens ? undefined : { kind: 'wire', reason: 'request_too_large' };
}

/** Input and output together do not fit. */
function whenOutputDoesNotFit(error: Evidence): FailureClass | undefined {
  return says(error, overflowed.OUTPUT_DOES_NOT_FIT) ? { kind: 'fit', reason: 'output_does_not_fit' } : undefined;
}

/** The input has too many tokens. */
function whenPromptTooLong(error: Evidence): FailureClass | undefined {
  const weak = says(error, overflowed.TOO_MANY_TOKENS) || says(error, overflowed.SEND_LESS);
  const isTooLong = isOverflow(error) || (weak && !isServerStatus(error.status));
  return isTooLong ? { kind: 'token', reason: 'prompt_too_long' } : undefined;
}

/** Any other 4xx would be answered the same way again, and the part of the request that is meant is unknown. */
function whenRejected(error: Evidence): FailureClass | undefined {
  const { status } = error;
  if (says(error, failed.REFUSED)) return { kind: 'unknown', reason: 'refused' };
  const isOwnWord = /^not found error$/m.test(error.labels) || !error.structured;
  if (says(error, failed.NOT_FOUND)) return { kind: isOwnWord ? 'terminal' : 'unknown', reason: 'not_found' };
  if (status === 404) return { kind: 'unknown', reason: 'not_found' };
  if (status === 499) return { kind: 'transient', reason: 'aborted' };
  const isInvalid = status !== undefined ? status < 500 : /^invalid request error$/m.test(error.labels);
  if (isInvalid && error.path !== undefined) return { kind: 'poison', reason: 'structure' };
  return isInvalid ? { kind: 'unknown', reason: 'bad_request' } : undefined;
}
