import type { Change } from '../../shared/state/change.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { learntWindow, limitOwner, type TurnSettings } from '../lane/turn-settings.ts';
import type { FailedCall } from './effects.ts';

/** The window that a refusal for size shows. */
interface LearntLimit {
  /** The whole window that the message is recovered for, in tokens. */
  limitTokens: number;
  /** The window for later messages of the session, in tokens; absent if there is none to store. */
  keptTokens?: number;
  /** The window that the endpoint states, where it is smaller than the one that the operator has set. */
  contradictingTokens?: number;
}

/** The smallest stated window that is believed. */
export const LIMIT_TOKENS_MIN = 1_000;
/** The smallest request from which a window is guessed: no supported model has a smaller one. */
const GUESS_TOKENS_MIN = 2_000;
/** A refusal without numbers shows that the window is smaller than what was sent; our count may be off. */
const GUESS_SHARE = 0.9;
/** One refusal without numbers never lowers the stored window below this share of the known one. */
const GUESS_KEPT_SHARE = 0.5;
/** Our count and a provider's own differ by less than this factor. */
const COUNT_FACTOR = 2;

/**
 * The window that a believed refusal shows. A stated limit counts only if the error's numbers are about this request.
 * Without one, the window for this message is a share of the request's own size, and the window for later messages is at
 * least half of `modelTokens`, the known window of the model. A rate limit is not stored as a window. Nothing is stored
 * if the operator has set `CONTEXT_WINDOW_TOKENS`. Pure.
 */
export function limitFrom(
  { failure, limitTokens: knownTokens, sentTokens, askedOutputTokens }: LearntFrom,
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
    const keptTokens = isStated ? limitTokens : Math.max(limitTokens, Math.floor(modelTokens * GUESS_KEPT_SHARE));
    return { limitTokens, keptTokens };
  }
  const isContradicted = isStated && stated < statedWindowTokens;
  return { limitTokens, ...(isContradicted && { contradictingTokens: stated }) };
}

type LearntFrom = Pick<FailedCall, 'sentTokens' | 'askedOutputTokens'> & {
  limitTokens: number;
  failure: Pick<FailedCall['failure'], 'reason' | 'limitTokens' | 'observedTokens'>;
};

/** Whether the numbers of an error are about this request. Some providers add the requested output to the input. */
function isAboutRequest({ observedTokens, limitTokens = 0 }: LearntFrom['failure'], sent: number, asked: number) {
  if (observedTokens === undefined) return limitTokens < (sent + asked) * COUNT_FACTOR;
  return observedTokens * COUNT_FACTOR >= sent && observedTokens <= (sent + asked) * COUNT_FACTOR;
}

/** Lifetime of a learnt window, because the window of an endpoint may change. */
const LEARNT_KEEP_MS = 24 * 3600_000;

/**
 * Stores a learnt window with a session, for this endpoint and model. Without a newly learnt window, stores the window
 * `known` before, with the rest of its lifetime.
 */
export function learnLimit(
  { keys, session }: Pick<Turn, 'keys' | 'session'>,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL'>,
  { keptTokens }: Pick<LearntLimit, 'keptTokens'>,
  known?: Turn['limit'],
): Change[] {
  const own = { untilMs: Date.now() + LEARNT_KEEP_MS, of: limitOwner(settings) };
  const learnt = keptTokens === undefined ? known : { tokens: keptTokens, ...own };
  return learnt === undefined ? [] : [sessionState(keys, session).learnWindow(learnt)];
}

/** Forgets the window that was learnt of this endpoint and model once a larger request was accepted. */
export function forgetLimit(
  { keys, session, limit }: Pick<Turn, 'keys' | 'session' | 'limit'>,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
  takenTokens: number,
): Change[] {
  const tokens = learntWindow(limit, settings) ?? Infinity;
  return takenTokens > tokens ? [sessionState(keys, session).forgetWindow()] : [];
}
