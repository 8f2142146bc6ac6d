import { type Evidence, field, readEvidence } from './evidence.ts';
import * as failed from './failure-patterns.ts';
import * as overflowed from './overflow-patterns.ts';
import { holds, type Rule } from './overflow-patterns.ts';

/** What kind of trouble a failure is: it alone decides the reaction (see the recovery table). */
export type FailureKind =
  | 'token'
  | 'fit'
  | 'wire'
  | 'media'
  | 'poison'
  /** An answer that was cut before its first word. */
  | 'output'
  /** The model declined. */
  | 'refusal'
  /** A 4xx without a known cause: the history, the message, the fixed parts or the endpoint may be to blame. */
  | 'unknown'
  | 'transient'
  | 'terminal';

/** A short stable code for spans, logs and alerts. The kind decides what to do, the reason says why. */
export type FailureReason =
  | 'prompt_too_long'
  | 'silent_overflow'
  /** Our own count said so before the call was made. */
  | 'counted_too_long'
  | 'counted_too_large'
  /** The turn's time ran out repeatedly. */
  | 'counted_too_slow'
  | 'output_does_not_fit'
  | 'request_too_large'
  | 'media_too_large'
  | 'media_unreadable'
  | 'structure'
  | 'thinking_signature'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'timeout'
  | 'cut_stream'
  | 'aborted'
  /** No call was made: the endpoint is spared. */
  | 'paused'
  /** Not recovered yet: many chats overflow, and one of them is tried first. */
  | 'overflow_storm'
  /** No call was made: a day's budget is used up. */
  | 'over_chat_budget'
  | 'over_total_budget'
  | 'authentication'
  | 'permission'
  | 'billing'
  | 'not_found'
  | 'refused'
  | 'bad_request'
  /** Thinking took all the output that was allowed. */
  | 'cut_before_text'
  | 'unknown';

/** Everything that recovery may know about a failed model call. A field is absent when the error does not state it. */
export interface Failure {
  kind: FailureKind;
  reason: FailureReason;
  status?: number;
  /** The size that the provider counted; for `fit` the input alone. Greater than `limitTokens` for `token`. */
  observedTokens?: number;
  /** The window that the provider named, never its output limit. */
  limitTokens?: number;
  /** The `max_tokens` part of a request that does not fit. */
  outputTokens?: number;
  path?: { message: number; block?: number };
  /** The tool that the error names, where it is about one of the request's tools. */
  tool?: string;
  /** How long the provider asks to wait, uncapped; only for `transient`. */
  retryAfterMs?: number;
  requestId?: string;
}

/** What an answer says about its own size. */
export interface AnswerUsage {
  stopReason: string | null;
  outputTokens: number;
  /** Input, cache reads and cache writes together. */
  inputTokens: number;
  windowTokens: number;
}

type Verdict = Pick<Failure, 'kind' | 'reason'>;

/**
 * Asked in this order; the first that returns a verdict decides. Each looks at types and status first, at text second.
 */
const STAGES: readonly ((error: Evidence) => Verdict | undefined)[] = [
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
 * what it cannot read is `transient`/`unknown`, which bounded attempts end. It must never be shown chat text.
 */
export function classify(error: unknown, now: () => number = Date.now): Failure {
  try {
    const evidence = readEvidence(error, now);
    for (const stage of STAGES) {
      const verdict = stage(evidence);
      if (verdict !== undefined) return withFacts(verdict, evidence);
    }
  } catch {
    // A hostile object can still throw where no read was expected; it must not take the turn down with it.
  }
  return { kind: 'transient', reason: 'unknown' };
}

/**
 * Classifies a call that returned an answer: an overflow that the provider did not report, or a refusal.
 * `model_context_window_exceeded` is not a failure: the answer is valid, and cut.
 */
export function classifyAnswer(answer: AnswerUsage): Failure | undefined {
  const stopReason = field(answer, 'stopReason');
  const [input, window] = [Number(field(answer, 'inputTokens')), Number(field(answer, 'windowTokens'))];
  if (stopReason === 'model_context_window_exceeded') return undefined;
  if (stopReason === 'refusal') return { kind: 'refusal', reason: 'refused' };
  const leftNoRoom = stopReason === 'max_tokens' && field(answer, 'outputTokens') === 0 && input >= window * 0.99;
  if (!(window > 0) || !(input > window || leftNoRoom)) return undefined;
  return { kind: 'token', reason: 'silent_overflow', observedTokens: input, limitTokens: window };
}

function withFacts(verdict: Verdict, { status, requestId, path, sizes, retryAfterMs }: Evidence): Failure {
  const failure: Failure = { ...verdict };
  if (status !== undefined) failure.status = status;
  if (requestId !== undefined) failure.requestId = requestId;
  if (path !== undefined) failure.path = path;
  if (verdict.kind === 'transient' && retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  if (verdict.kind !== 'token' && verdict.kind !== 'fit') return failure;
  if (sizes.observed !== undefined) failure.observedTokens = sizes.observed;
  if (sizes.limit !== undefined) failure.limitTokens = sizes.limit;
  if (sizes.output !== undefined) failure.outputTokens = sizes.output;
  return failure;
}

function says(error: Evidence, rules: readonly Rule[]): boolean {
  return rules.some((rule) => holds(rule, error.sentences, error.plain));
}

const isServerStatus = (status: number | undefined) => status !== undefined && status >= 500;

function whenConnectionFailed({ status, labels, structured }: Evidence): Verdict | undefined {
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
function whenDenied(error: Evidence): Verdict | undefined {
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
  return status === 403 || says(error, failed.PERMISSION) ? { kind, reason: 'permission' } : undefined;
}

function whenThrottled(error: Evidence): Verdict | undefined {
  if (says(error, overflowed.LONG_CONTEXT_GATE)) return { kind: 'token', reason: 'prompt_too_long' };
  const worded = says(error, failed.RATE_LIMITED);
  if (!worded && error.status !== 429) return undefined;
  if (worded && mentionsThrottleInPassing(error)) return undefined;
  if (worded ? overflowed.exceedsWholeBudget(error.plain) : statesExcess(error)) {
    return { kind: 'token', reason: 'prompt_too_long' };
  }
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

function whenServerFailed(error: Evidence): Verdict | undefined {
  const { status, labels } = error;
  const isTheirs = status === undefined || isServerStatus(status) || status === 408 || status === 409;
  if (!isTheirs && !/^overloaded error$/m.test(labels)) return undefined;
  if (isOverflow(error) || says(error, overflowed.BODY_TOO_LARGE)) return undefined;
  if (status === 529 || says(error, failed.OVERLOADED)) return { kind: 'transient', reason: 'overloaded' };
  if (status === 408 || status === 504) return { kind: 'transient', reason: 'timeout' };
  if (status !== undefined || says(error, failed.SERVER_ERROR)) return { kind: 'transient', reason: 'server_error' };
  return undefined;
}

function whenMalformed(error: Evidence): Verdict | undefined {
  if (statesExcess(error)) return undefined;
  if (says(error, failed.THINKING_SIGNATURE)) return { kind: 'poison', reason: 'thinking_signature' };
  return says(error, failed.STRUCTURE) ? { kind: 'poison', reason: 'structure' } : undefined;
}

function whenMediaRejected(error: Evidence): Verdict | undefined {
  const mediaPath = /messages[.[]\d{1,6}\S{0,40}\.(?:image|document|pdf)\b/.test(error.plain);
  if (!mediaPath && !(says(error, overflowed.MEDIA_REJECTED) && isErrorShaped(error))) return undefined;
  const isSize = /exceed|too (?:large|big|many|long)|maximum|dimension|resize|\d ?px|at most/.test(error.plain);
  return { kind: 'media', reason: isSize ? 'media_too_large' : 'media_unreadable' };
}

function whenBodyTooLarge(error: Evidence): Verdict | undefined {
  const aboutBytes = says(error, overflowed.BODY_TOO_LARGE) && isErrorShaped(error);
  if (!aboutBytes && error.status !== 413) return undefined;
  const aboutTokens =
    isOverflow(error) || says(error, overflowed.TOO_MANY_TOKENS) || (!aboutBytes && says(error, overflowed.SEND_LESS));
  return aboutTokens ? undefined : { kind: 'wire', reason: 'request_too_large' };
}

function whenOutputDoesNotFit(error: Evidence): Verdict | undefined {
  if (!says(error, overflowed.OUTPUT_DOES_NOT_FIT) || !isErrorShaped(error)) return undefined;
  return { kind: 'fit', reason: 'output_does_not_fit' };
}

function whenPromptTooLong(error: Evidence): Verdict | undefined {
  const weak = says(error, overflowed.TOO_MANY_TOKENS) || says(error, overflowed.SEND_LESS);
  if (!(isOverflow(error) || (weak && !isServerStatus(error.status))) || !isErrorShaped(error)) return undefined;
  return { kind: 'token', reason: 'prompt_too_long' };
}

/** Any other 4xx would be answered the same way again, and the part of the request that is meant is unknown. */
function whenRejected(error: Evidence): Verdict | undefined {
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

/** Only a text: a call that broke on the way, or a bug of our own. */
function whenBroken(error: Evidence): Verdict | undefined {
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

function isOverflow(error: Evidence): boolean {
  return says(error, overflowed.PROMPT_TOO_LONG) || statesExcess(error);
}

/** It names a count of what we sent and a smaller limit, and both are tokens of the input. */
function statesExcess({ sizes, plain }: Evidence): boolean {
  return sizes.observed !== undefined && sizes.limit !== undefined && overflowed.isAboutInputTokens(plain);
}

/** An error without status or envelope must look like one: short, to the point, and not a person speaking. */
function isErrorShaped(error: Evidence): boolean {
  return error.structured || !overflowed.isProse(error.plain, error.firstSentence, statesExcess(error));
}

/** Whether a failure means that a budget is used up. */
export function isOverBudget(reason: FailureReason): boolean {
  return reason === 'over_chat_budget' || reason === 'over_total_budget';
}
