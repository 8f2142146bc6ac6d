import { learntWindow, type TurnSettings } from '../lane/turn-settings.ts';
import { type Room, roomOf, usableTokens } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import { startsTurn } from '../session/record.ts';
import { type FailedCall, triedBy } from './effects.ts';
import { limitFrom } from './learnt-limit.ts';
import type { RecoveryState, Sizes } from './state.ts';

/** Collects the state of a failed call without a further call. Pure, except for the clock and a random number. */
export function observe(settings: TurnSettings, call: FailedCall): RecoveryState {
  const { turn, loadedSession } = call;
  const tried = triedBy(turn);
  const repeats = turn.tried.filter((step) => step.startsWith('repeat ') && step.includes(`@${turn.rounds} `));
  const { waitedMs, tries } = turn.waits.outage;
  const newest = loadedSession.window.records.findLast(({ t }) => t === 'user');
  return {
    stage: turn.stage,
    tried,
    failedCalls: turn.recoveries - turn.recoveriesBefore + repeats.length + 1,
    isOnTrial: turn.trial !== undefined,
    refusedInRow: turn.refusalsInRow,
    vainCompactions: turn.vainCompactions,
    isModelChosen: settings.MODEL !== settings.MODELS[0],
    sizes: sizesOf(settings, call),
    isOmitting: loadedSession.window.omitted > 0,
    hasHistory: loadedSession.window.head !== undefined || loadedSession.window.records.findLastIndex(startsTurn) > 0,
    isMidTurn: turn.rounds > 0 && newest !== undefined && !startsTurn(newest),
    outage: { tries, waitedMs: waitedMs + (tries > 0 ? turn.elapsedMs() : 0) },
    attempts: turn.attempts,
    silences: turn.silences,
    hasWords: call.hasWords,
    spread: Math.random(),
    evidence: {},
  };
}

function sizesOf(settings: TurnSettings, call: FailedCall): Sizes {
  const { windowTokens, sentTokens, fixedTokens, roundTokens } = call;
  return {
    request: sentTokens,
    fixed: fixedTokens,
    round: roundTokens,
    room: roomFor(settings, call),
    knownWindow: knownWindow(settings, call),
    statedWindow: windowTokens,
    statedUsable: usableTokens(windowTokens, settings.MAX_OUTPUT_TOKENS),
  };
}

/** The room for the request after this failure. */
export function roomFor(settings: TurnSettings, call: FailedCall): Room {
  return roomOf(limitFromCall(settings, call).limitTokens, settings);
}

/** The smaller of the model's stated window and the window learnt from earlier errors. */
function knownWindow(settings: TurnSettings, { windowTokens, turn }: FailedCall): number {
  return Math.min(windowTokens, learntWindow(turn.limit, settings) ?? windowTokens);
}

/** The window that follows from a failure, for this message and for later messages. */
export function limitFromCall(settings: TurnSettings, call: FailedCall) {
  const modelTokens = knownWindow(settings, call);
  return limitFrom({ ...call, limitTokens: call.room.limitTokens }, modelTokens, settings.CONTEXT_WINDOW_TOKENS);
}

/** After this many waits, a rate limit below the request's size counts as a size limit, if the endpoint states no wait. */
const RATE_TRIES_MIN = 3;

/**
 * The failure to decide on. A request that is larger than the rate limit never passes, however long we wait. So after one
 * wait if the endpoint states a wait, or after `RATE_TRIES_MIN` waits otherwise, the failure of such a request becomes a
 * `token` failure with the rate limit as its limit. Any other failure stays the same. Pure.
 */
export function effectiveFailure(call: Pick<FailedCall, 'failure' | 'sentTokens' | 'turn'>): Failure {
  const { failure, sentTokens, turn } = call;
  const { rateTokens, retryAfterMs } = failure;
  const triesMin = retryAfterMs === undefined ? RATE_TRIES_MIN : 1;
  if (rateTokens === undefined || rateTokens >= sentTokens || turn.waits.outage.tries < triesMin) return failure;
  return { kind: 'token', reason: 'rate_below_size', observedTokens: sentTokens, limitTokens: rateTokens };
}
