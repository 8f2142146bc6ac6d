import type { Attempt } from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { Settings } from '../lane/settings.ts';
import { isEndpointTrouble } from '../model/breaker.ts';
import type { Failure, FailureReason } from '../model/errors/failure.ts';

/** What to do after a call found the endpoint in trouble. */
export type Wait =
  /** `waitedMs` is how long the message will have waited in all; `isLong`: its user is to be notified. */
  { kind: 'wait'; delayMs: number; waitedMs: number; tries: number; isLong: boolean } | { kind: 'give up' };

/** How often a 4xx is trusted to be transient when only its wording says so. */
const WORDS_TRIES_MAX = 3;
/** Another chat is asked first: the wait is exact. */
const NOT_CALLED: ReadonlySet<string> = new Set(['paused', 'overflow_storm']);
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);
/**
 * A trial that began with endpoint trouble fails in the same way at once, or not at all: it waits no longer than this.
 */
const TRIAL_PATIENCE_MS = 60_000;

/** Whether a failure is the endpoint's: then it is bounded by time and uses up no attempt. */
export function isOutage({ kind, reason }: Failure): boolean {
  return kind === 'transient' && (NOT_CALLED.has(reason) || isEndpointTrouble(reason));
}

/**
 * Whether a message keeps waiting for an endpoint in trouble, and for how long. A wait that the endpoint asked for is
 * never cut short; any other ends when its user is to be notified. Pure.
 */
export function waitOut(
  attempt: Attempt,
  failure: Failure,
  patience: Pick<Settings, 'outagePatienceMs' | 'waitingNoticeMs'>,
): Wait {
  const before = attempt.turn.waits.outage;
  const tries = before.tries + 1;
  const waitedMs = before.waitedMs + (tries > 1 ? attempt.elapsedMs() : 0);
  const isOfEndpoint = attempt.trial !== undefined && isEndpointTrouble(attempt.trial.why as FailureReason);
  const patienceMs = Math.min(isOfEndpoint ? TRIAL_PATIENCE_MS : patience.outagePatienceMs, patience.outagePatienceMs);
  const isOnlyWords = isClientStatus(failure.status) && tries > (attempt.trial ? 0 : WORDS_TRIES_MAX);
  if (waitedMs >= patienceMs || isOnlyWords) return { kind: 'give up' };
  const { waitingNoticeMs } = patience;
  if (failure.retryAfterMs !== undefined) {
    const delayMs = NOT_CALLED.has(failure.reason) ? failure.retryAfterMs : backoffMs(tries, failure.retryAfterMs);
    return {
      kind: 'wait',
      delayMs,
      waitedMs: waitedMs + delayMs,
      tries,
      isLong: waitedMs + delayMs >= waitingNoticeMs,
    };
  }
  const untilNoticeMs = waitedMs < waitingNoticeMs ? waitingNoticeMs - waitedMs : Number.POSITIVE_INFINITY;
  const delayMs = Math.min(backoffMs(tries), untilNoticeMs, patienceMs - waitedMs);
  return { kind: 'wait', delayMs, waitedMs: waitedMs + delayMs, tries, isLong: waitedMs >= waitingNoticeMs };
}

function isClientStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && !PASSING_STATUS.has(status);
}

/** Stores that a message is waiting. */
export async function noteWait({ turn, write }: Attempt, wait: Extract<Wait, { kind: 'wait' }>) {
  await write('', [turn.waits.waitForModel(wait)]);
}
