import * as endpoint from './endpoint-failures.ts';
import { type Evidence, readEvidence } from './evidence.ts';
import type { Failure, FailureClass } from './failure.ts';
import { field } from './field.ts';
import * as request from './request-failures.ts';

/** What an answer says about its own size. */
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
  endpoint.whenConnectionFailed,
  endpoint.whenDenied,
  endpoint.whenThrottled,
  endpoint.whenServerFailed,
  request.whenMalformed,
  request.whenMediaRejected,
  request.whenBodyTooLarge,
  request.whenOutputDoesNotFit,
  request.whenPromptTooLong,
  request.whenRejected,
  endpoint.whenBroken,
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
  { status, requestId, path, sizes, retryAfterMs, rateTokens }: Evidence,
): Failure {
  const failure: Failure = { ...found };
  if (status !== undefined) failure.status = status;
  if (requestId !== undefined) failure.requestId = requestId;
  if (path !== undefined) failure.path = path;
  if (found.kind === 'transient' && retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
  if (found.reason === 'rate_limited' && rateTokens !== undefined) failure.rateTokens = rateTokens;
  if (found.kind !== 'token' && found.kind !== 'fit') return failure;
  if (sizes.observed !== undefined) failure.observedTokens = sizes.observed;
  if (sizes.limit !== undefined) failure.limitTokens = sizes.limit;
  if (sizes.output !== undefined) failure.outputTokens = sizes.output;
  return failure;
}
