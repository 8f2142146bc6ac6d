import { alertCommand } from '../shared/alert.ts';
import { type Attempt, ageMs } from './attempt.ts';
import { backoffMs } from './backoff.ts';
import { isOverBudget } from './budget.ts';
import { budgetAlert } from './incident.ts';
import type { Failure } from './model/classify.ts';
import { NOTICE } from './notice.ts';
import type { Trigger } from './recovery/policy.ts';
import { recover } from './recovery/recover.ts';
import type { Overflow, RecoverParts } from './recovery/step.ts';
import type { LogRecord } from './session/record.ts';
import { appendCommands, newStamp } from './session/store.ts';
import { type Decided, failed } from './verdict.ts';

/** A message that waits longer for an endpoint to come back is better told. */
const PAUSED_MS_MAX = 3_600_000;

/** A call that failed, whatever the kind of its failure. */
export type FailedCall = Omit<Overflow, 'failure'> & { failure: Failure };

/** What is done about a failed call: tried again later, told, or recovered from. */
export async function react(
  parts: RecoverParts & { maxAttempts: number },
  failedCall: FailedCall,
  signal: AbortSignal,
): Promise<Decided> {
  const { attempt, failure } = failedCall;
  if (isOverBudget(failure.reason)) return overBudget(attempt, failure.reason);
  if (failure.kind === 'terminal') return terminal(attempt, failure);
  if (failure.reason === 'paused' && ageMs(attempt) < PAUSED_MS_MAX)
    return { do: 'later', delayMs: failure.retryAfterMs ?? 0, reason: 'paused', isFree: true };
  if (failure.kind === 'transient') {
    if (attempt.attempts >= parts.maxAttempts)
      return failed(attempt, failure.reason, NOTICE.unavailable, 'all attempts failed');
    return { do: 'later', delayMs: backoffMs(attempt.attempts, failure.retryAfterMs), reason: failure.reason };
  }
  const overflow = { ...failedCall, failure: { ...failure, kind: failure.kind as Trigger } };
  const recovery = await recover(parts, overflow, signal);
  if (recovery.do === 'again') return { do: 'again' };
  // The summary could not be asked for; what that is about is no fault of this message.
  if (recovery.do === 'wait') return react(parts, { ...failedCall, failure: recovery.failure }, signal);
  return { conclusion: recovery.conclusion, commands: recovery.commands };
}

/** The user is told; the operator once a day for the budget of all. */
function overBudget(attempt: Attempt, reason: Failure['reason']): Decided {
  const isTotal = reason === 'over_total_budget';
  return {
    conclusion: { outcome: 'refused', reason, parts: [isTotal ? NOTICE.totalBudget : NOTICE.chatBudget] },
    commands: isTotal ? [alertCommand(attempt.keys, budgetAlert(attempt))] : [],
  };
}

/** Nothing that we could change would help: the user is told, the operator once per kind of trouble. */
function terminal(attempt: Attempt, failure: Failure): Decided {
  if (failure.reason !== 'refused')
    return failed(attempt, failure.reason, NOTICE.misconfigured, `status ${failure.status ?? 'none'}`, true);
  const { entry, keys, session } = attempt;
  const text = '[A message that the model declined was left out.]';
  const scrub: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, text };
  const refusal = failed(attempt, 'refused', NOTICE.declined, 'the model declined the message');
  return { ...refusal, commands: [...refusal.commands, ...appendCommands(keys, session, [scrub])] };
}
