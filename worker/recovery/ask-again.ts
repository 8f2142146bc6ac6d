import { queuedAlert } from '../../shared/state/incident/book.ts';
import { longWaitAlert } from '../alerts/causes/telegram.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { changesOfStep, changesToNote, type FailedCall } from './effects.ts';
import { roomFor } from './observe.ts';
import type { Wait } from './state.ts';

const OUTPUT_TOKENS_MIN = 1_024;
const MARGIN_TOKENS = 256;
const RAISE_FACTOR = 2;

/** Delays the message until a transient failure may have passed. Alerts the operator of a requested wait of over an hour. */
export async function wait({ turn }: FailedCall, step: Wait): Promise<Verdict> {
  const { why, delayMs, waitedMs, tries, isUncounted, isLong } = step;
  const changes = [
    ...(why.longWaitMs === undefined ? [] : [queuedAlert(turn.keys, longWaitAlert(turn, 'model', why.longWaitMs))]),
    ...(isUncounted ? [turn.waits.storeModelWait({ waitedMs, tries })] : []),
  ];
  if (changes.length > 0) await commit(turn, { step: '', changes, events: [] });
  return { kind: 'later', delayMs, reason: why.reason, isUncounted, isLongWait: isLong };
}

/** Delays the message, so that the next attempt repeats the same request. The delay does not count as an attempt. */
export async function repeatCall(call: FailedCall, delayMs: number): Promise<Verdict> {
  const { turn, failure } = call;
  await turn.write('', changesToNote(call, `repeat ${failure.kind}`));
  return { kind: 'later', delayMs, reason: `doubted_${failure.reason}`, isUncounted: true };
}

/** Lets the next attempt send the request, although it is too long by our own count. */
export async function sendAsItIs(call: FailedCall): Promise<Verdict> {
  await call.turn.write('', [...changesToNote(call, 'as it is'), call.turn.refundAttempt()]);
  return { kind: 'again' };
}

/**
 * Lets the next attempt ask for less output if input and output together do not fit, or for more if thinking used up the
 * output. Returns `undefined` if no amount is known that may help.
 */
export async function changeOutput(call: FailedCall): Promise<Verdict | undefined> {
  const { turn, failure } = call;
  const { limitTokens } = roomFor(call.turn.env.settings, call);
  const maxOutputTokens = failure.kind === 'output' ? raiseOutput(call, limitTokens) : lowerOutput(call, limitTokens);
  if (maxOutputTokens === undefined) return undefined;
  const event = failure.kind === 'output' ? 'context.output-raised' : 'context.output-lowered';
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [turn.askForOutput(maxOutputTokens), ...changesOfStep(call, 'output')],
    events: [{ event, maxOutputTokens }],
  });
  return { kind: 'again' };
}

function lowerOutput({ failure, askedOutputTokens }: FailedCall, limitTokens: number): number | undefined {
  if (failure.observedTokens === undefined) return undefined;
  const restTokens = limitTokens - failure.observedTokens - MARGIN_TOKENS;
  return restTokens >= OUTPUT_TOKENS_MIN && restTokens < askedOutputTokens ? restTokens : undefined;
}

/**
 * Twice the requested output, or as much more as the model and the window allow. If they allow no more, the same amount, but
 * only once. `undefined` after a call that fell silent.
 */
function raiseOutput(call: FailedCall, limitTokens: number): number | undefined {
  const { turn, askedOutputTokens, modelOutputTokens = Number.POSITIVE_INFINITY, sentTokens } = call;
  if (turn.silences > 0) return undefined;
  const restTokens = limitTokens - sentTokens - MARGIN_TOKENS;
  const newTokens = Math.min(askedOutputTokens * RAISE_FACTOR, modelOutputTokens, restTokens);
  if (newTokens > askedOutputTokens) return newTokens;
  return call.tried.includes('output') ? undefined : askedOutputTokens;
}
