import type { Attempt } from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import { modelWindow } from '../lane/settings.ts';
import { conclude, failed, refused, type Verdict } from '../lane/verdict.ts';
import type { Failure } from '../model/errors/failure.ts';
import { isOverBudget } from '../model/errors/failure.ts';
import type { Overflow, RecoverPorts, Recovery } from '../recovery/effects.ts';
import type { Trigger } from '../recovery/policy.ts';
import { recover } from '../recovery/recover.ts';
import { setChoiceAside } from './model-gone.ts';
import { isOutage, noteWait, waitOut } from './outage.ts';
import { askOnceMore } from './second-witness.ts';
import type { TurnTime } from './time.ts';

/** A failed call, with any kind of failure. */
export type FailedCall = Omit<Overflow, 'failure'> & {
  failure: Failure;
  /** Whether the model had begun to answer this request: then it was accepted. */
  hasWords: boolean;
};

/** How often a call is tried again where the endpoint does not say when it may be. */
const RATE_TRIES_MIN = 3;

/** Decides about a failed call: ask once more, retry later, notify the user, or recover. */
export async function react(ports: RecoverPorts, failedCall: FailedCall, time: TurnTime): Promise<Verdict> {
  const { attempt, failure } = failedCall;
  if (isOverBudget(failure.reason)) return overBudget(attempt, failure);
  const limitTokens = modelWindow(failedCall.windowTokens, attempt.limit, ports.settings);
  const again = await askOnceMore(ports.settings, attempt, failure, { ...failedCall, limitTokens });
  if (again) return again;
  const aside = await setChoiceAside(ports.settings, attempt, failure);
  if (aside) return aside;
  if (failure.kind === 'terminal')
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
  const { reason, retryAfterMs } = failure;
  if (!isOutage(failure)) {
    if (attempt.attempts >= ports.settings.maxAttempts) return undefined;
    return { kind: 'later', delayMs: backoffMs(attempt.attempts, retryAfterMs), reason };
  }
  const wait = waitOut(attempt, failure, ports.settings);
  if (wait.kind === 'give up') return undefined;
  await noteWait(attempt, wait);
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
  const spentMs = attempt.turn.recoverySpentMs;
  const startedMs = attempt.elapsedMs();
  const recovery = await time.recovering(
    Math.max(0, ports.settings.recoveryTimeoutMs - spentMs),
    async (signal, deadline) => {
      const taken = await recover(ports, overflow, { signal, deadline });
      // A recovery that was cut short resumes with the rest of its time. One that was killed starts with its full time
      // again, which uses up an attempt.
      if (signal.aborted && !deadline.aborted) await noteSpent(attempt, spentMs + attempt.elapsedMs() - startedMs);
      return taken;
    },
  );
  return decidedBy(ports, failedCall, recovery);
}

async function noteSpent({ turn, write }: Attempt, spentMs: number): Promise<void> {
  await write('', [turn.spendOnRecovery(spentMs)]);
}

async function decidedBy(ports: RecoverPorts, failedCall: FailedCall, recovery: Recovery): Promise<Verdict> {
  if (recovery.kind === 'again') return { kind: 'again' };
  if (recovery.kind === 'conclude') return recovery;
  return waitOrFail(ports, failedCall.attempt, recovery.failure);
}

/** A call that could not be made is not this message's fault: the message waits, and fails when that takes too long. */
export async function waitOrFail(ports: RecoverPorts, attempt: Attempt, failure: Failure): Promise<Verdict> {
  if (isOverBudget(failure.reason)) return overBudget(attempt, failure);
  const later = failure.kind === 'transient' ? await passing(ports, attempt, failure) : undefined;
  return later ?? failed(failure.reason, attempt.texts.unavailable, 'the endpoint is in trouble for long');
}

/** Refuses a message since a budget is used up; its user learns when that starts again. */
export function overBudget({ texts }: Pick<Attempt, 'texts'>, { reason, budget }: Failure): Verdict {
  const { whose, period, againMs } = budget ?? { whose: 'total', period: 'day', againMs: 0 };
  return conclude(refused(reason, texts.budget.usedUp(whose, period, againMs)));
}
