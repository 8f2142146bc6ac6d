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

/** Has the message wait for trouble that passes. The operator is told of a wait that is longer than an hour. */
export async function wait(
  { turn }: FailedCall,
  { why, delayMs, waitedMs, tries, isUncounted, isLong }: Wait,
): Promise<Verdict> {
  const { keys } = turn;
  const changes = [
    ...(why.longWaitMs === undefined ? [] : [queuedAlert(keys, longWaitAlert(turn, 'model', why.longWaitMs))]),
    ...(isUncounted ? [turn.waits.storeModelWait({ waitedMs, tries })] : []),
  ];
  if (changes.length > 0) await commit(turn, { step: '', changes, events: [] });
  return { kind: 'later', delayMs, reason: why.reason, isUncounted, isLongWait: isLong };
}

/** Sends the same request once more after a pause; that uses up no attempt. */
export async function repeatCall(call: FailedCall, delayMs: number): Promise<Verdict> {
  const { turn, failure } = call;
  await turn.write('', changesToNote(call, `repeat ${failure.kind}`));
  return { kind: 'later', delayMs, reason: `doubted_${failure.reason}`, isUncounted: true };
}

/** Sends the request although our own count is against it. */
export async function sendAsItIs(call: FailedCall): Promise<Verdict> {
  await call.turn.write('', [...changesToNote(call, 'as it is'), call.turn.refundAttempt()]);
  return { kind: 'again' };
}

/**
 * Asks for less output where it does not fit beside the input, and for more where thinking took all of it. Returns
 * nothing when no other amount would help.
 */
export async function changeOutput(call: FailedCall): Promise<Verdict | undefined> {
  const { env } = call.turn;
  const { turn, failure } = call;
  const { limitTokens } = roomFor(env.settings, call);
  const maxOutputTokens = failure.kind === 'output' ? raised(call, limitTokens) : lowered(call, limitTokens);
  if (maxOutputTokens === undefined) return undefined;
  const event = failure.kind === 'output' ? 'context.output-raised' : 'context.output-lowered';
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [turn.askForOutput(maxOutputTokens), ...changesOfStep(call, 'output')],
    events: [{ event, maxOutputTokens }],
  });
  return { kind: 'again' };
}

function lowered({ failure, askedOutputTokens }: FailedCall, limitTokens: number): number | undefined {
  if (failure.observedTokens === undefined) return undefined;
  const left = limitTokens - failure.observedTokens - MARGIN_TOKENS;
  return left >= OUTPUT_TOKENS_MIN && left < askedOutputTokens ? left : undefined;
}

/** Twice the output. If the model or the window allows no more, the same output, once. Undefined after a silent call. */
function raised(call: FailedCall, limitTokens: number): number | undefined {
  const { turn, askedOutputTokens, modelOutputTokens = Number.POSITIVE_INFINITY, sentTokens } = call;
  if (turn.silences > 0) return undefined;
  const left = limitTokens - sentTokens - MARGIN_TOKENS;
  const wanted = Math.min(askedOutputTokens * RAISE_FACTOR, modelOutputTokens, left);
  if (wanted > askedOutputTokens) return wanted;
  return call.tried.includes('output') ? undefined : askedOutputTokens;
}
