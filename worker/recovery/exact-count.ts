import type { Attempt } from '../lane/attempt.ts';
import { noteTried, type Overflow, type Recovery } from './effects.ts';

/** Listed among the kinds that were tried. */
const COUNTED = 'counted';

/** Whether the endpoint's own count says that the present request fits. */
export function isCountedToFit(attempt: Attempt): boolean {
  return attempt.turn.countedToFit === requestOf(attempt);
}

/**
 * Before a step that costs a session, or a part of a message: the endpoint's own count is asked, where it offers one.
 * Where it says that the request fits in `usableTokens`, the request is sent as it is: if only our own count was against it,
 * and once more in all if the endpoint had refused it. Returns nothing where the step has to be taken.
 */
export async function tryAsCounted(
  { attempt, failure, opened, countTokens }: Overflow,
  usableTokens: number,
  signal: AbortSignal,
): Promise<Recovery | undefined> {
  const isOwnCount = failure.reason === 'counted_too_long';
  if (isOwnCount ? isCountedToFit(attempt) || opened.window.omitted > 0 : attempt.tried.includes(COUNTED))
    return undefined;
  const tokens = await countTokens(signal);
  if (tokens === undefined || tokens > usableTokens) return undefined;
  const { turn } = attempt;
  const noted = isOwnCount ? turn.countToFit(requestOf(attempt)) : noteTried(attempt, COUNTED);
  // The request was not sent again: no attempt is used.
  await attempt.write('', [noted, turn.freeAttempt()]);
  return { kind: 'again' };
}

function requestOf({ session, rounds, recoveries }: Attempt): string {
  return `${session} ${rounds} ${recoveries}`;
}
