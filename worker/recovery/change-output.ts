import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { changesOfStep, type FailedCall, type RecoverPorts } from './effects.ts';
import { roomFor } from './observe.ts';

const OUTPUT_TOKENS_MIN = 1_024;
const MARGIN_TOKENS = 256;
const RAISE_FACTOR = 2;

/**
 * Asks for less output where it does not fit beside the input, and for more where thinking took all of it. Returns
 * nothing when no other amount would help.
 */
export async function changeOutput(ports: RecoverPorts, call: FailedCall): Promise<Verdict | undefined> {
  const { attempt, failure } = call;
  const { limitTokens } = roomFor(ports.settings, call);
  const maxOutputTokens = failure.kind === 'output' ? raised(call, limitTokens) : lowered(call, limitTokens);
  if (maxOutputTokens === undefined) return undefined;
  const event = failure.kind === 'output' ? 'context.output-raised' : 'context.output-lowered';
  await commit(ports.observability, attempt, {
    step: `recover:${attempt.recoveries}`,
    changes: [attempt.turn.askForOutput(maxOutputTokens), ...changesOfStep(call, 'output')],
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
  const { attempt, askedOutputTokens, modelOutputTokens = Number.POSITIVE_INFINITY, sentTokens } = call;
  if (attempt.silences > 0) return undefined;
  const left = limitTokens - sentTokens - MARGIN_TOKENS;
  const wanted = Math.min(askedOutputTokens * RAISE_FACTOR, modelOutputTokens, left);
  if (wanted > askedOutputTokens) return wanted;
  return call.tried.includes('output') ? undefined : askedOutputTokens;
}
