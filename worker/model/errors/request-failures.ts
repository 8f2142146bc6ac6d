import type { Evidence } from './evidence.ts';
import type { FailureClass } from './failure.ts';
import * as failed from './failure-patterns.ts';
import * as overflowed from './overflow-patterns.ts';
import { isServerStatus } from './status.ts';
import { isErrorShaped, isOverflow, says, statesExcess } from './wording.ts';

/** The structure of the history is not taken, or its thinking. */
export function whenMalformed(error: Evidence): FailureClass | undefined {
  if (statesExcess(error)) return undefined;
  if (says(error, failed.THINKING_SIGNATURE)) return { kind: 'poison', reason: 'thinking_signature' };
  return says(error, failed.STRUCTURE) ? { kind: 'poison', reason: 'structure' } : undefined;
}

/** A picture or a file is not taken. */
export function whenMediaRejected(error: Evidence): FailureClass | undefined {
  const mediaPath = /messages[.[]\d{1,6}\S{0,40}\.(?:image|document|pdf)\b/.test(error.plain);
  if (!mediaPath && !(says(error, overflowed.MEDIA_REJECTED) && isErrorShaped(error))) return undefined;
  const isSize = /exceed|too (?:large|big|many|long)|maximum|dimension|resize|\d ?px|at most/.test(error.plain);
  return { kind: 'media', reason: isSize ? 'media_too_large' : 'media_unreadable' };
}

/** The request has too many bytes. */
export function whenBodyTooLarge(error: Evidence): FailureClass | undefined {
  const aboutBytes = says(error, overflowed.BODY_TOO_LARGE) && isErrorShaped(error);
  if (!aboutBytes && error.status !== 413) return undefined;
  const aboutTokens =
    isOverflow(error) || says(error, overflowed.TOO_MANY_TOKENS) || (!aboutBytes && says(error, overflowed.SEND_LESS));
  return aboutTokens ? undefined : { kind: 'wire', reason: 'request_too_large' };
}

/** Input and output together do not fit. */
export function whenOutputDoesNotFit(error: Evidence): FailureClass | undefined {
  if (!says(error, overflowed.OUTPUT_DOES_NOT_FIT) || !isErrorShaped(error)) return undefined;
  return { kind: 'fit', reason: 'output_does_not_fit' };
}

/** The input has too many tokens. */
export function whenPromptTooLong(error: Evidence): FailureClass | undefined {
  const weak = says(error, overflowed.TOO_MANY_TOKENS) || says(error, overflowed.SEND_LESS);
  if (!(isOverflow(error) || (weak && !isServerStatus(error.status))) || !isErrorShaped(error)) return undefined;
  return { kind: 'token', reason: 'prompt_too_long' };
}

/** Any other 4xx would be answered the same way again, and the part of the request that is meant is unknown. */
export function whenRejected(error: Evidence): FailureClass | undefined {
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
