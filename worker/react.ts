import type { Attempt } from './attempt.ts';
import { backoffMs } from './backoff.ts';
import type { Failure } from './model/classify.ts';
import { NOTICE } from './notice.ts';
import type { Trigger } from './recovery/policy.ts';
import { recover } from './recovery/recover.ts';
import type { Overflow, RecoverParts } from './recovery/step.ts';
import type { LogRecord } from './session/record.ts';
import { appendCommands, newStamp } from './session/store.ts';
import { type Decided, failed } from './verdict.ts';

/** A call that failed, whatever the kind of its failure. */
export type FailedCall = Omit<Overflow, 'failure'> & { failure: Failure };

/** What is done about a failed call: tried again later, told, or recovered from. */
export async function react(
  parts: RecoverParts & { maxAttempts: number },
  failedCall: FailedCall,
  signal: AbortSignal,
): Promise<Decided> {
  const { attempt, failure } = failedCall;
  if (failure.kind === 'terminal') return terminal(attempt, failure);
  if (failure.kind === 'transient') {
    if (attempt.attempts >= parts.maxAttempts)
      return failed(attempt, failure.reason, NOTICE.unavailable, 'all attempts failed');
    return { do: 'later', delayMs: backoffMs(attempt.attempts, failure.retryAfterMs), reason: failure.reason };
  }
  const overflow = { ...failedCall, failure: { ...failure, kind: failure.kind as Trigger } };
  const recovery = await recover(parts, overflow, signal);
  return recovery.do === 'again' ? { do: 'again' } : { conclusion: recovery.conclusion, commands: recovery.commands };
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
