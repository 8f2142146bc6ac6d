import { commit } from '../lane/events.ts';
import { noteTried, type Overflow, type RecoverPorts, type Recovery } from './effects.ts';

const OUTPUT_TOKENS_MIN = 1_024;
const MARGIN_TOKENS = 256;
const RAISE_FACTOR = 2;

/** Asks for less output where it does not fit beside the input. `false` when too little would remain for an answer. */
export async function lowerOutput(
  ports: RecoverPorts,
  overflow: Overflow,
  limitTokens: number,
): Promise<Recovery | false> {
  const { observedTokens } = overflow.failure;
  if (observedTokens === undefined) return false;
  const room = limitTokens - observedTokens - MARGIN_TOKENS;
  return room >= OUTPUT_TOKENS_MIN && askFor(ports, overflow, room);
}

/**
 * Asks for more output where thinking took all of it; where the model or the window allows no more, for as much, once.
 * `false` when that did not help, and for a turn that is slow already: more would take longer still.
 */
export async function raiseOutput(
  ports: RecoverPorts,
  overflow: Overflow,
  limitTokens: number,
): Promise<Recovery | false> {
  const { attempt, askedOutputTokens, modelOutputTokens = Number.POSITIVE_INFINITY, sentTokens } = overflow;
  if (attempt.silences > 0) return false;
  const room = limitTokens - sentTokens - MARGIN_TOKENS;
  const wanted = Math.min(askedOutputTokens * RAISE_FACTOR, modelOutputTokens, room);
  if (wanted > askedOutputTokens) return askFor(ports, overflow, wanted);
  return !attempt.tried.includes('output') && askFor(ports, overflow, askedOutputTokens);
}

async function askFor(ports: RecoverPorts, { attempt, failure }: Overflow, maxOutputTokens: number): Promise<Recovery> {
  const event = failure.kind === 'output' ? 'context.output-raised' : 'context.output-lowered';
  const { turn } = attempt;
  await commit(ports.instruments, attempt, {
    step: `recover:${attempt.recoveries}`,
    changes: [turn.askForOutput(maxOutputTokens), ...turn.enter(attempt.stage), noteTried(attempt, failure.kind)],
    events: [{ event, maxOutputTokens }],
  });
  return { kind: 'again' };
}
