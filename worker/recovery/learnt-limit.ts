import type { Change } from '../../shared/state/change.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import { limitOwner, type Settings } from '../lane/settings.ts';
import type { FailedCall } from './effects.ts';

/** The room that a refusal for size leaves. */
export interface LearntLimit {
  /** The whole window that the message is recovered for, in tokens. */
  limitTokens: number;
  /** The window that later messages of the session are held to as well; absent where nothing is to be kept. */
  keptTokens?: number;
  /** The window that the endpoint states, where it is smaller than the one that the operator has set. */
  contradictingTokens?: number;
  /** Whether it is only known that what was sent is too much. */
  isGuess: boolean;
}

/** An error that states a smaller window than this is nonsense. */
export const LIMIT_TOKENS_MIN = 1_000;
/** No supported model has a smaller window, so a smaller request was not refused for its length. */
const GUESS_TOKENS_MIN = 2_000;
/** A refusal without numbers shows that the window is smaller than what was sent; our count may be off. */
const GUESS_SHARE = 0.9;
/** However often a refusal has no numbers, it teaches no less than this share of what was known. */
const GUESS_KEPT_SHARE = 0.5;
/** Our count and a provider's own differ by less. */
const COUNT_FACTOR = 2;

/**
 * The window that a believed refusal shows. A stated limit counts only where the numbers are about the request
 * that was sent; otherwise what was sent bounds the recovery of this message, and later ones only by half of what was
 * known of the model, `modelTokens`. A limit of rates is no window, and nothing that is learnt goes below `statedWindowTokens`, which the operator
 * has set. Pure.
 */
export function limitFrom(
  { failure, limitTokens: knownTokens, sentTokens, askedOutputTokens }: LearntFrom,
  modelTokens: number,
  statedWindowTokens: number | undefined,
): LearntLimit {
  const { limitTokens: stated, reason } = failure;
  const isStated =
    stated !== undefined && stated >= LIMIT_TOKENS_MIN && isAboutRequest(failure, sentTokens, askedOutputTokens);
  const isGuess = !isStated && reason === 'prompt_too_long' && sentTokens >= GUESS_TOKENS_MIN;
  if (!isStated && !isGuess) return { limitTokens: knownTokens, isGuess: false };
  const limitTokens = Math.min(knownTokens, isStated ? stated : Math.floor(sentTokens * GUESS_SHARE));
  if (limitTokens >= knownTokens || reason === 'rate_below_size') return { limitTokens, isGuess };
  if (statedWindowTokens === undefined) {
    const keptTokens = isStated ? limitTokens : Math.max(limitTokens, Math.floor(modelTokens * GUESS_KEPT_SHARE));
    return { limitTokens, isGuess, keptTokens };
  }
  const isContradicted = isStated && stated < statedWindowTokens;
  return { limitTokens, isGuess, ...(isContradicted && { contradictingTokens: stated }) };
}

type LearntFrom = Pick<FailedCall, 'limitTokens' | 'sentTokens' | 'askedOutputTokens'> & {
  failure: Pick<FailedCall['failure'], 'reason' | 'limitTokens' | 'observedTokens'>;
};

/** Some providers count what is asked for as well. */
function isAboutRequest({ observedTokens, limitTokens = 0 }: LearntFrom['failure'], sent: number, asked: number) {
  if (observedTokens === undefined) return limitTokens < (sent + asked) * COUNT_FACTOR;
  return observedTokens * COUNT_FACTOR >= sent && observedTokens <= (sent + asked) * COUNT_FACTOR;
}

/** How long a learnt window holds: what was true of an endpoint once need not be true for ever. */
const LEARNT_KEEP_MS = 24 * 3600_000;

/**
 * Keeps a window that errors showed in a session, for this endpoint and model; where they showed none, the window `known`
 * before is kept for what is left of its time.
 */
export function learnLimit(
  { keys, session }: Pick<Attempt, 'keys' | 'session'>,
  settings: Settings,
  { keptTokens }: LearntLimit,
  known?: Attempt['limit'],
): Change[] {
  const own = { untilMs: Date.now() + LEARNT_KEEP_MS, of: limitOwner(settings) };
  const learnt = keptTokens === undefined ? known : { tokens: keptTokens, ...own };
  return learnt === undefined ? [] : [sessionState(keys, session).learnWindow(learnt)];
}

/** Forgets a learnt window once the endpoint has taken more. */
export function forgetLimit({ keys, session, limit }: Attempt, takenTokens: number): Change[] {
  return limit !== undefined && takenTokens > limit.tokens ? [sessionState(keys, session).forgetWindow()] : [];
}
