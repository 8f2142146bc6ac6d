import { chatState } from '../../shared/state/chat/chat.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import { longWaitAlert } from '../alerts/causes/telegram.ts';
import type { Attempt, TurnTime } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { modelWindow, type Settings, timeZoneOf } from '../lane/settings.ts';
import { backoffMs, conclude, type Ending, failed, refused, type Verdict } from '../lane/verdict.ts';
import { isEndpointTrouble } from '../model/breaker.ts';
import { classifyAnswer } from '../model/errors/classify.ts';
import { type Failure, type FailureKind, type FailureReason, isOverBudget } from '../model/errors/failure.ts';
import type { ModelAnswer } from '../model/port.ts';
import { conversationSize } from '../model/usage.ts';
import type { Overflow, RecoverPorts } from '../recovery/effects.ts';
import type { Trigger } from '../recovery/policy.ts';
import { recover } from '../recovery/recover.ts';
import { earlierWords, goesOn, isCut } from './words.ts';

/** A failed call, with any kind of failure. */
export type FailedCall = Omit<Overflow, 'failure'> & {
  failure: Failure;
  /** Whether the model had begun to answer this request: then it was accepted. */
  hasWords: boolean;
};

/** An answer can hide a failure: a refusal, a window exceeded without an error, or no text. */
export function hiddenFailure(
  settings: Pick<Settings, 'toolRoundsMax'>,
  { opened, attempt, windowTokens }: Pick<Overflow, 'opened' | 'attempt' | 'windowTokens'>,
  answer: ModelAnswer,
  round: number,
): Failure | undefined {
  const { stopReason, content, text, usage } = answer;
  const hidden = classifyAnswer({
    stopReason,
    isEmpty: text.trim() === '' && !content.some(({ type }) => type === 'tool_use'),
    outputTokens: usage.outputTokens,
    inputTokens: conversationSize(usage, content)?.inputTokens,
    windowTokens,
  });
  if (hidden || goesOn(answer, round, settings) || answer.text.trim() !== '') return hidden;
  if (answer.stopReason === 'max_tokens') return { kind: 'output', reason: 'cut_before_text' };
  // After its tools a model may have nothing to add, and some models say nothing before them. Asked once more, it may
  // say more.
  const isDone = attempt.rounds > 0 && attempt.attempts > 1;
  const isBlank = !isCut(answer) && !isDone && earlierWords(opened, attempt) === '';
  return isBlank ? { kind: 'transient', reason: 'unknown' } : undefined;
}

/** How often a call is tried again where the endpoint does not say when it may be. */
const RATE_TRIES_MIN = 3;

/** Decides about a failed call: ask once more, retry later, notify the user, or recover. */
export async function react(ports: RecoverPorts, failedCall: FailedCall, time: TurnTime): Promise<Verdict> {
  const { attempt, failure } = failedCall;
  if (isOverBudget(failure.reason)) return overBudget(attempt, ports.settings, failure);
  const limitTokens = modelWindow(failedCall.windowTokens, attempt.limit, ports.settings);
  const again = await askOnceMore(ports.settings, attempt, failure, { ...failedCall, limitTokens });
  if (again) return again;
  const aside = await setChoiceAside(ports.settings, attempt, failure);
  if (aside) return aside;
  if (failure.kind === 'terminal' || failure.kind === 'model')
    return failed(failure.reason, attempt.texts.misconfigured, `status ${failure.status ?? 'none'}`);
  if (failure.kind !== 'transient') return recoverFrom(ports, failedCall, failure.kind, time);
  const rateFailure = rateTooLow(failedCall);
  if (rateFailure) return recoverFrom(ports, { ...failedCall, failure: rateFailure }, 'token', time);
  const later = await passing(ports, attempt, failure);
  if (later) return later;
  if (failedCall.hasWords) return failed(failure.reason, attempt.texts.unavailable, 'it was cut each time');
  // The endpoint may be healthy and only this conversation be in trouble: asking for less shows which.
  return recoverFrom(ports, failedCall, 'unknown', time);
}

/**
 * A rate that is smaller than the request lets it never through, however long it waits, unless most of it is cached:
 * then it would have gone through after the wait that was asked for. Returns that as a failure.
 */
function rateTooLow({ attempt, failure, sentTokens }: FailedCall): Failure | undefined {
  const { rateTokens, retryAfterMs } = failure;
  if (rateTokens === undefined || rateTokens >= sentTokens) return undefined;
  const tries = attempt.turn.waits.outage.tries;
  if (tries < (retryAfterMs === undefined ? RATE_TRIES_MIN : 1)) return undefined;
  return { kind: 'token', reason: 'rate_below_size', observedTokens: sentTokens, limitTokens: rateTokens };
}

/**
 * Transient trouble: the endpoint's is bounded by time, any other by attempts. Returns nothing when that is used up.
 */
async function passing(ports: RecoverPorts, attempt: Attempt, failure: Failure): Promise<Verdict | undefined> {
  const { reason, retryAfterMs, longWaitMs } = failure;
  if (longWaitMs !== undefined)
    await attempt.write('', [queuedAlert(attempt.keys, longWaitAlert(attempt, 'model', longWaitMs))]);
  if (!isOutage(failure)) {
    if (attempt.attempts >= ports.settings.maxAttempts) return undefined;
    return { kind: 'later', delayMs: backoffMs(attempt.attempts, ports.settings.retryMs, retryAfterMs), reason };
  }
  const wait = waitOut(attempt, failure, ports.settings);
  if (wait.kind === 'give up') return undefined;
  await attempt.write('', [attempt.turn.waits.waitForModel(wait)]);
  return { kind: 'later', delayMs: wait.delayMs, reason, isFree: true, isLongWait: wait.isLong };
}

async function recoverFrom(
  ports: RecoverPorts,
  failedCall: FailedCall,
  kind: Trigger,
  time: TurnTime,
): Promise<Verdict> {
  const { attempt, failure } = failedCall;
  const overflow = { ...failedCall, failure: { ...failure, kind } };
  const { turn, write } = attempt;
  const startedMs = attempt.elapsedMs();
  const recovery = await time.recovering(
    Math.max(0, ports.settings.recoveryTimeoutMs - turn.recoverySpentMs),
    async (signal, deadline) => {
      const taken = await recover(ports, overflow, { signal, deadline });
      // A recovery that was cut short resumes with the rest of its time. One that was killed starts with its full time
      // again, which uses up an attempt.
      if (signal.aborted && !deadline.aborted)
        await write('', [turn.spendOnRecovery(turn.recoverySpentMs + attempt.elapsedMs() - startedMs)]);
      return taken;
    },
  );
  return recovery.kind === 'wait' ? waitOrFail(ports, attempt, recovery.failure) : recovery;
}

/** A call that could not be made is not this message's fault: the message waits, and fails when that takes too long. */
export async function waitOrFail(ports: RecoverPorts, attempt: Attempt, failure: Failure): Promise<Verdict> {
  if (isOverBudget(failure.reason)) return overBudget(attempt, ports.settings, failure);
  const later = failure.kind === 'transient' ? await passing(ports, attempt, failure) : undefined;
  return later ?? failed(failure.reason, attempt.texts.unavailable, 'the endpoint is in trouble for long');
}

/** Refuses a message since a budget is used up; its user learns when that starts again. */
export function overBudget(
  attempt: Pick<Attempt, 'texts' | 'choice'>,
  settings: Pick<Settings, 'timeZone'>,
  { reason, budget }: Failure,
): Verdict {
  const { whose, period, againMs } = budget ?? { whose: 'total', period: 'day', againMs: 0 };
  const again = { atMs: againMs, timeZone: timeZoneOf(attempt, settings) };
  return conclude(refused(reason, attempt.texts.budget.usedUp(whose, period, again)));
}

/** The kinds whose recovery takes nothing from a chat. */
const COSTS_NOTHING: ReadonlySet<FailureKind> = new Set<FailureKind>(['transient', 'fit', 'output']);
/** A request that we count as this much of the window, or more, may well be too long: our own count agrees. */
const AGREES_SHARE = 0.8;

/**
 * A refusal is believed when a second observation agrees with it: our own count of the request, or the same kind of
 * refusal of the same request a moment later. Until then the request is sent once more, unchanged, and uses no attempt.
 * Each kind is doubted once between two tool rounds, so this ends for every sequence of failures.
 *
 * Returns nothing when the refusal is to be believed. Contract: throws `FencedError`, or what Redis throws.
 */
export async function askOnceMore(
  settings: Pick<Settings, 'doubtWaitMs'>,
  attempt: Attempt,
  failure: Failure,
  size: { sentTokens: number; limitTokens: number },
): Promise<Verdict | undefined> {
  if (hasSecond(failure, size)) return undefined;
  const refusal = `${failure.kind}@${attempt.rounds}`;
  if (attempt.turn.doubted.includes(refusal)) return undefined;
  await attempt.write('', [attempt.turn.doubt(refusal)]);
  return { kind: 'later', delayMs: settings.doubtWaitMs, reason: `doubted_${failure.reason}`, isFree: true };
}

/** Whether it needs no second observation, or has one. */
function hasSecond(
  { kind, reason, isSeconded }: Failure,
  { sentTokens, limitTokens }: { sentTokens: number; limitTokens: number },
): boolean {
  if (isSeconded === true || COSTS_NOTHING.has(kind) || reason.startsWith('counted_')) return true;
  return kind === 'token' && sentTokens >= limitTokens * AGREES_SHARE;
}

/** The decision after a call found the endpoint in trouble. */
export type Wait =
  /** `waitedMs` is how long the message will have waited in all; `isLong`: its user is to be notified. */
  { kind: 'wait'; delayMs: number; waitedMs: number; tries: number; isLong: boolean } | { kind: 'give up' };

/** How often a 4xx is trusted to be transient when only its wording says so. */
const WORDS_TRIES_MAX = 3;
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);
/** A trial that began with endpoint trouble fails like that at once, or not at all: it waits no longer. */
const TRIAL_PATIENCE_MS = 60_000;

/** Whether a failure is the endpoint's: then it is bounded by time and uses up no attempt. */
export function isOutage({ kind, reason }: Failure): boolean {
  return kind === 'transient' && (reason === 'paused' || isEndpointTrouble(reason));
}

/**
 * Whether a message keeps waiting for an endpoint in trouble, and for how long. A wait that the endpoint asked for is
 * never cut short; any other ends when its user is to be notified. Pure.
 */
export function waitOut(
  attempt: Attempt,
  { status, reason, retryAfterMs: askedMs }: Failure,
  { outagePatienceMs, waitingNoticeMs, retryMs }: Pick<Settings, 'outagePatienceMs' | 'waitingNoticeMs' | 'retryMs'>,
): Wait {
  const before = attempt.turn.waits.outage;
  const tries = before.tries + 1;
  const waitedMs = before.waitedMs + (tries > 1 ? attempt.elapsedMs() : 0);
  const isOfEndpoint = attempt.trial !== undefined && isEndpointTrouble(attempt.trial.why as FailureReason);
  const patienceMs = Math.min(isOfEndpoint ? TRIAL_PATIENCE_MS : outagePatienceMs, outagePatienceMs);
  const isOnlyWords = isClientStatus(status) && tries > (attempt.trial ? 0 : WORDS_TRIES_MAX);
  if (waitedMs >= patienceMs || isOnlyWords) return { kind: 'give up' };
  const untilNoticeMs = waitedMs < waitingNoticeMs ? waitingNoticeMs - waitedMs : Number.POSITIVE_INFINITY;
  const grownMs = backoffMs(tries, retryMs, askedMs);
  const ownMs = Math.min(grownMs, untilNoticeMs, patienceMs - waitedMs);
  const delayMs = askedMs === undefined ? ownMs : reason === 'paused' ? askedMs : grownMs;
  const isLong = waitedMs + (askedMs === undefined ? 0 : delayMs) >= waitingNoticeMs;
  return { kind: 'wait', delayMs, waitedMs: waitedMs + delayMs, tries, isLong };
}

function isClientStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && !PASSING_STATUS.has(status);
}

/** A call that fell silent is made once more; after that, what was said is all that there will be. */
export const SILENCES_MAX = 2;

/** The end of a message whose calls fell silent too often. */
export function fallenSilent(attempt: Attempt): Ending {
  return failed('fell_silent', attempt.texts.unavailable, 'the model fell silent twice');
}

/**
 * Sets a chat's own choice aside for a message when the chosen model cannot be used: the usual one is asked, and only its
 * answer shows that the endpoint is well, and the chosen model gone. `undefined` for other failures, and
 * when the usual model cannot be used either.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function setChoiceAside(
  { modelName, models: [usual] }: Pick<Settings, 'modelName' | 'models'>,
  { turn, write }: Attempt,
  { kind }: Failure,
): Promise<Verdict | undefined> {
  if (kind !== 'model' || modelName === usual) return undefined;
  await write('', turn.setModelAside(modelName));
  return { kind: 'again' };
}

/**
 * Ends the choice of a model that is gone, now that the usual one has answered: in one write with the notice to the user
 * and the alert, and only if the chat has not chosen another one meanwhile. Returns the attempt as it continues.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function leaveGoneModel(
  { settings: { modelName }, observability }: Pick<RecoverPorts, 'settings' | 'observability'>,
  attempt: Attempt,
): Promise<Attempt> {
  const { keys, chat, texts, notices, turn } = attempt;
  const gone = turn.goneModel;
  const notice = gone === undefined ? '' : texts.modelGone(gone, modelName);
  if (gone === undefined || notices.includes(notice)) return attempt;
  const told = [...notices, notice];
  const written = await commit(observability, attempt, {
    step: 'model gone',
    changes: [chatState(keys, chat).leaveToDefault('model'), turn.notify(told)],
    expected: [chatState(keys, chat).hasChosen('model', gone)],
    events: [{ event: 'model.gone', gone, now: modelName }],
  });
  return written === 'unmet' ? attempt : { ...attempt, notices: told };
}
