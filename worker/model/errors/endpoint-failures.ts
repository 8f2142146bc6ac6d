import type { Evidence } from './evidence.ts';
import type { FailureClass } from './failure.ts';
import * as failed from './failure-patterns.ts';
import * as overflowed from './overflow-patterns.ts';
import { holds } from './overflow-patterns.ts';
import { isServerStatus } from './status.ts';
import { isOverflow, says, statesExcess } from './wording.ts';

/** No answer came: the connection failed, or one of us ended it. */
export function whenConnectionFailed({ status, labels, structured }: Evidence): FailureClass | undefined {
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
export function whenDenied(error: Evidence): FailureClass | undefined {
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
export function whenThrottled(error: Evidence): FailureClass | undefined {
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
export function whenServerFailed(error: Evidence): FailureClass | undefined {
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
export function whenBroken(error: Evidence): FailureClass | undefined {
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
