import type { Change } from '../../shared/state/change.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { learntWindow, limitOwner, type TurnSettings } from '../lane/turn-settings.ts';
import type { FailedCall } from './effects.ts';

/** The window that the gateway concludes from a refusal for size. */
interface LearntLimit {
  /** The window for the recovery of this message, in tokens. */
  limitTokens: number;
  /** The window to store for later messages of the session, in tokens; absent if no window is to be stored. */
  sessionTokens?: number;
  /** The window that the endpoint states, if it is smaller than the operator's setting. */
  contradictingTokens?: number;
}

/** A stated window that is smaller than this is ignored. */
export const LIMIT_TOKENS_MIN = 1_000;
/** A window is guessed only from a request of at least this size, since no supported model has a smaller window. */
const GUESS_TOKENS_MIN = 2_000;
/** After a refusal without numbers, the window is guessed as this share of our own count of the request. */
const GUESS_SHARE = 0.9;
/** A refusal without numbers never lowers the stored window below this share of the known window. */
const SESSION_GUESS_SHARE = 0.5;
/** Our own count of a request and the provider's differ by less than this factor. */
const COUNT_FACTOR = 2;

/**
 * Derives the window from a failure. The window for this message never exceeds `knownTokens`, the limit of the failed call. A
 * stated limit counts only if the error's numbers are about this request. If no limit counts but the error calls a request of
 * at least `GUESS_TOKENS_MIN` too long, this message's window is a share of the request's size, and the stored one is at least
 * half of `modelTokens`, the model's window. Otherwise the window is unchanged. A rate limit is not stored as a window, and nothing is stored if the operator
 * has set `CONTEXT_WINDOW_TOKENS` (`statedWindowTokens`). Pure.
 */
export function limitFrom(
  { failure, limitTokens: knownTokens, sentTokens, askedOutputTokens }: LimitSource,
  modelTokens: number,
  statedWindowTokens: number | undefined,
): LearntLimit {
  const { limitTokens: stated = 0, reason } = failure;
  const isStated = stated >= LIMIT_TOKENS_MIN && isAboutRequest(failure, sentTokens, askedOutputTokens);
  const isGuess = !isStated && reason === 'prompt_too_long' && sentTokens >= GUESS_TOKENS_MIN;
  if (!isStated && !isGuess) return { limitTokens: knownTokens };
  const limitTokens = Math.min(knownTokens, isStated ? stated : Math.floor(sentTokens * GUESS_SHARE));
  if (limitTokens >= knownTokens || reason === 'rate_below_size') return { limitTokens };
  if (statedWindowTokens === undefined) {
    const sessionTokens = isStated ? limitTokens : Math.max(limitTokens, Math.floor(modelTokens * SESSION_GUESS_SHARE));
    return { limitTokens, sessionTokens };
  }
  const isContradicted = isStated && stated < statedWindowTokens;
  return { limitTokens, ...(isContradicted && { contradictingTokens: stated }) };
}

type LimitSource = Pick<FailedCall, 'sentTokens' | 'askedOutputTokens'> & {
  limitTokens: number;
  failure: Pick<FailedCall['failure'], 'reason' | 'limitTokens' | 'observedTokens'>;
};

/** Whether an error's numbers are plausible for this request. Some providers add the requested output to the input. */
function isAboutRequest({ observedTokens, limitTokens = 0 }: LimitSource['failure'], input: number, output: number) {
  if (observedTokens === undefined) return limitTokens < (input + output) * COUNT_FACTOR;
  return observedTokens * COUNT_FACTOR >= input && observedTokens <= (input + output) * COUNT_FACTOR;
}

/** How long a learnt window counts. Limited, because the window of an endpoint may change. */
const LEARNT_LIMIT_MS = 24 * 3600_000;

/**
 * The changes that store a learnt window with a session, for this endpoint and model. Without a new window, `previous` is
 * stored, and its lifetime stays the same; with neither, there are no changes.
 */
export function learnLimit(
  { keys, session }: Pick<Turn, 'keys' | 'session'>,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL'>,
  { sessionTokens }: Pick<LearntLimit, 'sessionTokens'>,
  previous?: Turn['limit'],
): Change[] {
  const lifetime = { untilMs: Date.now() + LEARNT_LIMIT_MS, of: limitOwner(settings) };
  const limit = sessionTokens === undefined ? previous : { tokens: sessionTokens, ...lifetime };
  return limit === undefined ? [] : [sessionState(keys, session).learnWindow(limit)];
}

/** The changes that forget the learnt window of this endpoint and model; none unless a larger request was accepted. */
export function forgetLimit(
  { keys, session, limit }: Pick<Turn, 'keys' | 'session' | 'limit'>,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
  takenTokens: number,
): Change[] {
  const tokens = learntWindow(limit, settings) ?? Infinity;
  return takenTokens > tokens ? [sessionState(keys, session).forgetWindow()] : [];
}
