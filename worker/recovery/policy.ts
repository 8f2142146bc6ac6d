import { backoffMs } from '../lane/backoff.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import { isEndpointTrouble } from '../model/breaker.ts';
import { type Failure, isOfAccount, isOverBudget } from '../model/errors/failure.ts';
import type { Fail, LeftOut, RecoveryState, Step, Tried, Uncompacted, Wait } from './state.ts';

/** The settings that limit the waits. */
export type Limits = Pick<
  TurnSettings,
  'MAX_ATTEMPTS' | 'OUTAGE_PATIENCE_MS' | 'SUMMARY_TIME_MS' | 'WAITING_NOTICE_MS' | 'RETRY_MS' | 'DOUBT_WAIT_MS'
>;

/** A message ends after this many failed calls since its last round of tools. */
export const FAILED_CALLS_MAX = 6;
/** After this many silent calls, the message ends with its partial answer. */
export const SILENCES_MAX = 2;
/** After this many vain compactions in a row, a session is not compacted again. */
const VAIN_COMPACTIONS_MAX = 3;
/** Our own count confirms a refusal for size if it is at least this share of the known window. */
const OWN_COUNT_SHARE = 0.8;
/** A count in the error confirms a refusal for size if it differs from our own count by at most this share of our count. */
const STATED_COUNT_SHARE = 0.3;
/** If the fixed parts leave less room than this in the window, no answer fits. */
const ANSWER_TOKENS_MIN = 1_024;
/** The newest round gets at least this share of the usable window; with less room, the conversation is compacted first. */
const ROUND_SHARE_MIN = 0.2;
/** A request is trimmed to this share of the level at which the session is compacted after the reply. */
const TRIM_TARGET_SHARE = 0.9;
const TRIMS_MAX = 2;
const OUTPUT_CHANGES_MAX = 2;
/** How often a 4xx counts as an outage if only its wording, not its status, says so. */
const WORDS_TRIES_MAX = 3;
/** The 4xx statuses that mean an outage, whatever the error's wording. */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);

/**
 * Chooses the next step for a failed call. `docs/recovery.md` explains the eight rules; rule 5 comes before rule 2. Pure and
 * total. Every sequence of failures ends, because each step adds to the evidence, `tried`, the stage or `failedCalls`,
 * or replaces the model for good, and `OUTAGE_PATIENCE_MS` or `MAX_ATTEMPTS` limits the waits.
 */
export function decide(state: RecoveryState, failure: Failure, limits: Limits): Step {
  if (isOverBudget(failure.reason)) return { do: 'refuse', why: failure };
  // Rule 1: the endpoint is unavailable, or the failure is transient for another reason.
  if (failure.kind === 'transient') return decideOutage(state, failure, limits);
  if (state.failedCalls >= FAILED_CALLS_MAX) return isOfAccountOrModel(failure) ? FAILS.account : FAILS.message;
  // Rule 5: the output does not fit. Another amount of output costs the chat nothing, so no second observation is needed.
  if (isOfOutput(failure) && countOf(state.tried, 'output') < OUTPUT_CHANGES_MAX) return { do: 'change output' };
  // Rule 2: do several observations confirm the failure?
  const observation = nextObservation(state, failure, limits);
  if (observation) return observation;
  const stepForFixedParts = decideRefusedFixedParts(state, failure, limits);
  if (stepForFixedParts) return stepForFixedParts;
  switch (failure.kind) {
    case 'terminal':
      return failOrReplay(state, FAILS.account);
    case 'model':
      return state.isModelChosen ? { do: 'use default model' } : failOrReplay(state, FAILS.account);
    // Rules 3 and 4: shorten the newest round, then the conversation.
    case 'token':
    case 'fit':
      return decideTooLong(state, failure, limits);
    case 'output':
      return failOrReplay(state);
    // Rules 6 and 7: omit the parts that may be refused, then the history.
    default:
      return decideRefusal(state, failure);
  }
}

const ASK_FIXED_PARTS: Step = { do: 'ask', what: 'fixed parts' };
const FAILS = {
  endpoint: { do: 'fail', trouble: 'endpoint' },
  silence: { do: 'fail', trouble: 'silence' },
  account: { do: 'fail', trouble: 'account' },
  fixedParts: { do: 'fail', trouble: 'fixed parts' },
  message: { do: 'fail', trouble: 'message' },
} as const satisfies Record<string, Fail>;

/**
 * Rule 1: waits within the limits, then fails the message. If the endpoint answered with an error of its own, the error may be
 * a refusal. So if the message before was refused, too, tries this one in a fresh session instead (`failOrReplay`).
 */
function decideOutage(state: RecoveryState, failure: Failure, limits: Limits): Step {
  if (state.silences >= SILENCES_MAX) return FAILS.silence;
  const wait = waitFor(state, failure, limits);
  if (wait) return wait;
  return isAnsweredWithError(failure) && !state.hasWords ? failOrReplay(state, FAILS.endpoint) : FAILS.endpoint;
}

/** The next wait; `undefined` if the time or tries for an outage, or the attempts after another failure, are used up. */
function waitFor(state: RecoveryState, failure: Failure, limits: Limits): Wait | undefined {
  const { waitedMs, tries } = state.outage;
  const { retryAfterMs: askedMs, status, reason } = failure;
  const backoffAfterMs = (count: number) => backoffMs(count, limits.RETRY_MS, askedMs, () => state.spread);
  const wait = { do: 'wait', why: failure, waitedMs, tries, isLong: false } as const;
  if (!isOutage(failure)) {
    const hasAttempts = state.attempts < limits.MAX_ATTEMPTS;
    return hasAttempts ? { ...wait, delayMs: backoffAfterMs(state.attempts), isUncounted: false } : undefined;
  }
  const isOnlyWords = status !== undefined && status >= 400 && status < 500 && !PASSING_STATUS.has(status);
  if (waitedMs >= limits.OUTAGE_PATIENCE_MS || (isOnlyWords && tries >= WORDS_TRIES_MAX)) return undefined;
  const delayMs = outageDelayMs(waitedMs, backoffAfterMs(tries + 1), { askedMs, isExact: reason === 'paused' }, limits);
  const isLong = waitedMs + (askedMs === undefined ? 0 : delayMs) >= limits.WAITING_NOTICE_MS;
  return { ...wait, delayMs, waitedMs: waitedMs + delayMs, tries: tries + 1, isLong, isUncounted: true };
}

/**
 * The length of the next wait. If the endpoint asks for one: as long, or longer unless `isExact`. Otherwise the wait grows with
 * each try, up to the moment of the notice (`WAITING_NOTICE_MS`), then up to the end of all waiting (`OUTAGE_PATIENCE_MS`).
 */
function outageDelayMs(
  waitedMs: number,
  backoffDelayMs: number,
  { askedMs, isExact }: { askedMs: number | undefined; isExact: boolean },
  { WAITING_NOTICE_MS, OUTAGE_PATIENCE_MS }: Limits,
): number {
  if (askedMs !== undefined) return isExact ? askedMs : backoffDelayMs;
  const untilNoticeMs = waitedMs < WAITING_NOTICE_MS ? WAITING_NOTICE_MS - waitedMs : Number.POSITIVE_INFINITY;
  return Math.min(backoffDelayMs, untilNoticeMs, OUTAGE_PATIENCE_MS - waitedMs);
}

/** Whether a failure is an outage of the endpoint. Waits during an outage are limited in time, and do not count as attempts. */
export function isOutage({ kind, reason }: Pick<Failure, 'kind' | 'reason'>): boolean {
  return kind === 'transient' && (reason === 'paused' || isEndpointTrouble(reason));
}

/** Whether the endpoint answered this request with an error of its own, which the request's content may have caused. */
export function isAnsweredWithError({ reason }: Pick<Failure, 'reason'>): boolean {
  return reason === 'server_error' || reason === 'unknown';
}

function isOfAccountOrModel({ kind }: Failure): boolean {
  return kind === 'terminal' || kind === 'model';
}

function isOfOutput({ kind }: Failure): boolean {
  return kind === 'fit' || kind === 'output';
}

/** Whether a failure is about the tokens of a request. */
export function isOfSize({ kind }: Pick<Failure, 'kind'>): boolean {
  return kind === 'token' || kind === 'fit';
}

/** Whether our own count or our own check found the failure, so that no request was sent. */
export function isOwnFinding({ reason }: Pick<Failure, 'reason'>): boolean {
  return reason.startsWith('counted_') || reason === 'invalid_request';
}

/** Rule 2: the next observation to make before a failure is believed; `undefined` if no further one is needed. */
function nextObservation(state: RecoveryState, failure: Failure, { DOUBT_WAIT_MS }: Limits): Step | undefined {
  const { evidence, sizes, tried } = state;
  const isRepeated = failure.isSeconded === true || tried.includes(`repeat ${failure.kind}`);
  const repeat: Step | undefined = isRepeated ? undefined : { do: 'repeat', delayMs: DOUBT_WAIT_MS };
  const fixedParts = evidence.fixedParts ? undefined : ASK_FIXED_PARTS;
  switch (failure.kind) {
    case 'token':
    case 'fit':
      if (isContradicted(state, failure)) {
        if (evidence.count === undefined) return { do: 'ask', what: 'count' };
        return isTooMany(evidence.count, sizes.knownWindow) ? undefined : (repeat ?? fixedParts);
      }
      // If the fixed parts alone do not fit, a shorter conversation does not help.
      return sizes.fixed > sizes.room.limitTokens - ANSWER_TOKENS_MIN ? fixedParts : undefined;
    case 'output':
      return undefined;
    default:
      return isOwnFinding(failure) ? undefined : repeat;
  }
}

/** Whether neither our own count nor the error's count of the request agrees that the request is too long. */
function isContradicted({ sizes }: RecoveryState, failure: Failure): boolean {
  const { observedTokens, limitTokens } = failure;
  if (isOwnFinding(failure) || isTooMany(sizes.request, sizes.knownWindow)) return false;
  if (observedTokens === undefined || limitTokens === undefined) return true;
  return Math.abs(observedTokens - sizes.request) > sizes.request * STATED_COUNT_SHARE;
}

function isTooMany(tokens: number | 'unknown', windowTokens: number): boolean {
  return tokens !== 'unknown' && tokens >= windowTokens * OWN_COUNT_SHARE;
}

/** The step after the fixed parts alone were refused or got no clear answer; `undefined` if they passed or were not tried. */
function decideRefusedFixedParts(state: RecoveryState, failure: Failure, limits: Limits): Step | undefined {
  const { fixedParts } = state.evidence;
  if (fixedParts === undefined || fixedParts.kind === 'taken') return undefined;
  if (isOfAccountOrModel(failure) && !state.isModelChosen) return FAILS.account;
  const trouble = fixedParts.failure ?? IN_TROUBLE;
  if (fixedParts.kind === 'unclear') return waitFor(state, trouble, limits) ?? { ...FAILS.endpoint, why: trouble };
  const tool = fixedParts.failure?.tool;
  if (tool !== undefined) return { do: 'exclude tools', named: tool };
  if (state.isModelChosen) return { do: 'use default model' };
  // An endpoint that calls short requests too long is confused, and may recover.
  const isConfused = isOfSize(failure) && isContradicted(state, failure);
  return (isConfused ? waitFor(state, IN_TROUBLE, limits) : undefined) ?? FAILS.fixedParts;
}

const IN_TROUBLE: Failure = { kind: 'transient', reason: 'server_error' };

/** Rules 3 and 4: trim the newest round, compact the conversation, begin a fresh session, or send the request as it is. */
function decideTooLong(state: RecoveryState, failure: Failure, limits: Limits): Step {
  const { sizes, stage, tried, refusedInRow, isOnTrial } = state;
  const { compaction, count } = state.evidence;
  const mayGoAsItIs = isOwnFinding(failure) && !state.isOmitting && !tried.includes('as it is');
  const fitsStated = sizes.request <= sizes.statedUsable;
  // If the request exceeds only the window learnt from an earlier error, the endpoint may accept the request by now.
  const isLearnt = sizes.knownWindow < sizes.statedWindow && sizes.room.limitTokens >= sizes.knownWindow;
  const isOnlyLearnt = isLearnt && fitsStated && state.failedCalls === 1 && stage === 'none';
  if (mayGoAsItIs && isOnlyLearnt) return AS_IT_IS;
  // Rule 8: the refusal contradicts our count, and the previous message was refused, too.
  if (isContradicted(state, failure) && refusedInRow > 0 && !isOnTrial) return QUOTELESS;
  const trim = chooseTrim(state);
  const hasNoSummary = compaction !== undefined || tried.includes('summary');
  const isWorthCompacting = state.vainCompactions < VAIN_COMPACTIONS_MAX;
  if (!trim && stage === 'none' && !hasNoSummary && isWorthCompacting) return { do: 'compact', how: 'summary' };
  if (mayGoAsItIs && hasNoSummary && !trim && fitsStated) return AS_IT_IS;
  const stepAfterSummary = compaction && decideFailedSummary(state, compaction, limits);
  if (stepAfterSummary) return stepAfterSummary;
  // The steps below cost more than a count, which is free of charge.
  if (count === undefined) return { do: 'ask', what: 'count' };
  if (mayGoAsItIs && count !== 'unknown' && count <= sizes.room.usableTokens) return AS_IT_IS;
  if (trim) return trim;
  if (stage !== 'fresh') return { do: 'fresh session', quotes: true, isTrial: isContradicted(state, failure) };
  return mayGoAsItIs ? AS_IT_IS : failOrReplay(state);
}

const AS_IT_IS: Step = { do: 'send as it is' };
const QUOTELESS: Step = { do: 'fresh session', quotes: false, isTrial: true };

/** Rule 3: trim the newest round if enough of it fits beside the rest, it alone is too large, or the session is fresh. */
function chooseTrim({ sizes, tried, stage, isOmitting }: RecoveryState): Step | undefined {
  const { request, fixed, round, room } = sizes;
  if (isOmitting || countOf(tried, 'trim') >= TRIMS_MAX) return undefined;
  const roundTokensMin = room.usableTokens * ROUND_SHARE_MIN;
  const restTokens = room.fullTokens * TRIM_TARGET_SHARE - (request - round);
  const isAloneTooLarge = round + fixed > room.usableTokens;
  const tokens = Math.floor(Math.max(roundTokensMin, restTokens));
  if (round <= tokens || (restTokens < roundTokensMin && !isAloneTooLarge && stage !== 'fresh')) return undefined;
  return { do: 'trim', tokens };
}

/**
 * The step after a failed summary. If the summariser is unavailable, waits while the time for a summary lasts; then, if the
 * endpoint accepts the fixed parts alone, masks old tool results. `undefined` if the failure calls for no other step.
 */
function decideFailedSummary(state: RecoveryState, summary: Uncompacted, limits: Limits): Step | undefined {
  const { reason, failure, tookMs } = summary;
  if (failure === undefined) return undefined;
  if (isOverBudget(failure.reason)) return { do: 'refuse', why: failure };
  if (isOfAccount(failure.reason) || failure.reason === 'permission') return { ...FAILS.account, why: failure };
  if (reason !== 'away') return undefined;
  const { fixedParts } = state.evidence;
  const wait = waitFor(state, failure, limits);
  // Whether another try would exceed the time that a person waits for a summary.
  const isLate = (wait?.waitedMs ?? Number.POSITIVE_INFINITY) + tookMs >= limits.SUMMARY_TIME_MS;
  if (isLate && fixedParts === undefined) return ASK_FIXED_PARTS;
  if (fixedParts?.kind !== 'taken') return wait ?? { ...FAILS.endpoint, why: failure };
  return state.tried.includes('mask') ? undefined : { do: 'compact', how: 'mask' };
}

/** The parts to omit for a kind of failure, the smallest loss first. */
const LEFT_OUT: Readonly<Partial<Record<Failure['kind'], readonly LeftOut[]>>> = {
  wire: ['largest parts'],
  media: ['named media', 'newest media', 'all media'],
  poison: ['thinking'],
};

/** Rules 6 and 7: omit the parts that may have caused the refusal, then try the message in a fresh session, then fail it. */
function decideRefusal(state: RecoveryState, { kind, reason }: Failure): Step {
  const { tried, isMidTurn, isOnTrial, hasHistory, refusedInRow, evidence } = state;
  if (reason !== 'invalid_request') {
    const part = LEFT_OUT[kind]?.find((what) => !tried.includes(what));
    if (part) return { do: 'leave out', what: part };
    if (isOnTrial && (!isMidTurn || tried.includes('results'))) return FAILS.message;
    // The results or the history can be the cause only if the endpoint accepts the fixed parts alone.
    if (evidence.fixedParts === undefined) return ASK_FIXED_PARTS;
    // The endpoint accepted the request before these results were added.
    if (isMidTurn && !tried.includes('results')) return { do: 'leave out', what: 'results' };
  }
  return isOnTrial || !hasHistory ? FAILS.message : { do: 'fresh session', quotes: refusedInRow === 0, isTrial: true };
}

/** Rule 8: if the message before was refused, too, tries this one once in a fresh session without quotations; else fails it. */
function failOrReplay(state: RecoveryState, fail: Fail = FAILS.message): Step {
  const { refusedInRow, failedCalls, isOnTrial, tried, evidence } = state;
  if (refusedInRow === 0 || failedCalls >= FAILED_CALLS_MAX) return fail;
  if (isOnTrial || tried.includes('quoteless')) return fail;
  if (evidence.fixedParts === undefined) return ASK_FIXED_PARTS;
  return evidence.fixedParts.kind === 'taken' ? QUOTELESS : fail;
}

function countOf(tried: readonly Tried[], step: Tried): number {
  return tried.filter((each) => each === step).length;
}
