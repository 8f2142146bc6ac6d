import { type Evidence, field, readEvidence } from './evidence.ts';
import type { Failure, FailureClass } from './failure.ts';
import { type Fact, WORDINGS, type Wording } from './wordings.ts';

/** The longest wait that we grant an endpoint. If it asks for more, our own backoff applies instead. */
const ASKED_WAIT_MS_MAX = 3_600_000;
/** Nobody refuses a body of fewer bytes for its size, since the smallest limit in use is nginx's default, 1 MiB. */
const WIRE_BYTES_MIN = 1_000_000;

/** The facts about an answer that may show an unreported failure. */
export interface AnswerUsage {
  stopReason: string | null;
  /** Whether the answer has neither words nor tool calls. */
  isEmpty: boolean;
  outputTokens: number;
  /** Input, cache reads and cache writes of one pass together; undefined if unknown. */
  inputTokens: number | undefined;
  windowTokens: number;
}

/**
 * Classifies a failed model call by the table of wordings. Accepts anything: an error of the SDK, the body of an SSE
 * `error` event, a plain string, null. Total: never throws, and always returns a kind. An error that matches no row is
 * `transient`/`unknown`, so the call is retried a few times. `requestBytes` is the size of the request's body, if known.
 *
 * Contract: do not pass the text of a chat or of an answer, which may quote an error.
 */
export function classify(error: unknown, { requestBytes = WIRE_BYTES_MIN }: { requestBytes?: number } = {}): Failure {
  const evidence = readEvidence(error);
  const { kind, reason } = wordingOf(evidence) ?? { kind: 'transient', reason: 'unknown' };
  return withFacts({ kind: kind === 'wire' && requestBytes < WIRE_BYTES_MIN ? 'unknown' : kind, reason }, evidence);
}

/** The first row of the table that matches an error. */
export function wordingOf(error: Evidence): Wording | undefined {
  const facts = new Set<Fact | undefined>(error.facts);
  if (WORDINGS.some((row) => row.certain && matches(row, error, facts))) facts.add('too large');
  return WORDINGS.find((row) => matches(row, error, facts));
}

function matches(row: Wording, { status, sentences, plain }: Evidence, facts: ReadonlySet<Fact | undefined>): boolean {
  if (row.status?.test(String(status ?? 'none')) === false) return false;
  if (row.with !== undefined && !facts.has(row.with)) return false;
  if (facts.has(row.without)) return false;
  const { all = [], none = [] } = row;
  const texts = row.across || all.length === 0 ? [plain] : sentences;
  return texts.some((text) => all.every((regex) => regex.test(text)) && !none.some((regex) => regex.test(text)));
}

/**
 * Classifies a call that returned an answer: a refusal, or an overflow that the provider did not report. Unless its stop
 * reason is `refusal`, an answer with words or calls is not a failure, because it was billed, and a person waits for it.
 */
export function classifyAnswer(answer: AnswerUsage): Failure | undefined {
  const stopReason = field(answer, 'stopReason');
  const [input, window] = [Number(field(answer, 'inputTokens')), Number(field(answer, 'windowTokens'))];
  if (stopReason === 'refusal') return { kind: 'refusal', reason: 'refused' };
  if (field(answer, 'isEmpty') !== true) return undefined;
  const leftNoRoom = stopReason === 'max_tokens' && field(answer, 'outputTokens') === 0 && input >= window * 0.99;
  if (window > 0 && (input > window || leftNoRoom))
    return { kind: 'token', reason: 'silent_overflow', observedTokens: input, limitTokens: window };
  return stopReason === 'model_context_window_exceeded' ? { kind: 'token', reason: 'silent_overflow' } : undefined;
}

/** The class of a failure, with the error's facts that matter to it. */
function withFacts(
  failureClass: FailureClass,
  { status, requestId, path, sizes, retryAfterMs, resetMs, rateTokens }: Evidence,
): Failure {
  const isAboutSize = failureClass.kind === 'token' || failureClass.kind === 'fit';
  const isThrottled = failureClass.reason === 'rate_limited';
  const askedMs = failureClass.kind === 'transient' ? (retryAfterMs ?? (isThrottled ? resetMs : undefined)) : undefined;
  const facts = {
    status,
    requestId,
    path,
    ...(askedMs !== undefined && obeyedWait(askedMs)),
    rateTokens: isThrottled ? rateTokens : undefined,
    ...(isAboutSize && { observedTokens: sizes.observed, limitTokens: sizes.limit, outputTokens: sizes.output }),
  };
  return { ...failureClass, ...Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined)) };
}

/** The wait that an endpoint asks for: as `retryAfterMs` or, if longer than an hour, as `longWaitMs`, which is not obeyed. */
export function obeyedWait(askedMs: number): Pick<Failure, 'retryAfterMs' | 'longWaitMs'> {
  return askedMs <= ASKED_WAIT_MS_MAX ? { retryAfterMs: askedMs } : { longWaitMs: askedMs };
}
