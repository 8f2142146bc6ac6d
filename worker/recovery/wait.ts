import { queuedAlert } from '../../shared/state/incident/book.ts';
import { longWaitAlert } from '../alerts/causes/telegram.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { changesOfStep, changesToNote, type FailedCall, type RecoverPorts } from './effects.ts';
import type { Wait } from './state.ts';

/** Has the message wait for trouble that passes. The operator is told of a wait that is longer than an hour. */
export async function wait(
  { observability }: RecoverPorts,
  { attempt }: FailedCall,
  { why, delayMs, waitedMs, tries, isFree, isLong }: Wait,
): Promise<Verdict> {
  const { keys, turn } = attempt;
  const changes = [
    ...(why.longWaitMs === undefined ? [] : [queuedAlert(keys, longWaitAlert(attempt, 'model', why.longWaitMs))]),
    ...(isFree ? [turn.waits.waitForModel({ waitedMs, tries })] : []),
  ];
  if (changes.length > 0) await commit(observability, attempt, { step: '', changes, events: [] });
  return { kind: 'later', delayMs, reason: why.reason, isFree, isLongWait: isLong };
}

/** Sends the same request once more after a pause; that uses up no attempt. */
export async function repeatCall(call: FailedCall, delayMs: number): Promise<Verdict> {
  const { attempt, failure } = call;
  await attempt.write('', changesToNote(call, `repeat ${failure.kind}`));
  return { kind: 'later', delayMs, reason: `doubted_${failure.reason}`, isFree: true };
}

/** Sends the request although our own count is against it. */
export async function sendAsItIs(call: FailedCall): Promise<Verdict> {
  await call.attempt.write(`recover:${call.attempt.recoveries}`, changesOfStep(call, 'as it is'));
  return { kind: 'again' };
}
