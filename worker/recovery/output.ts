import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { modelWindow, type Settings } from '../lane/settings.ts';
import { HISTORY_BYTES_MAX } from '../model/block.ts';
import { type Room, usableTokens } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import { asShown } from '../session/overlay.ts';
import { type Overflow, type RecoverPorts, type Recovery, type RecoveryTime, takesFixedPartsOf } from './effects.ts';
import { areLargerThan } from './oversized.ts';

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
  return !attempt.turn.tried.includes('output') && askFor(ports, overflow, askedOutputTokens);
}

async function askFor(ports: RecoverPorts, { attempt, failure }: Overflow, maxOutputTokens: number): Promise<Recovery> {
  const event = failure.kind === 'output' ? 'context.output-raised' : 'context.output-lowered';
  const { turn } = attempt;
  await commit(ports.observability, attempt, {
    step: `recover:${attempt.recoveries}`,
    changes: [turn.askForOutput(maxOutputTokens), ...turn.enter(attempt.stage), turn.noteTried(failure.kind)],
    events: [{ event, maxOutputTokens }],
  });
  return { kind: 'again' };
}

/** The API names one tool at a time; more bad ones than that are a broken server. */
const TOOLS_MAX = 20;

/**
 * Removes the tools that the API refuses by name, and retries the message. A request's error is not trusted alone: it
 * may quote what a user wrote, and a removed tool is removed for every chat. So the fixed parts are checked until they
 * are taken. Returns nothing when no tool is to blame. Contract: as `recover`.
 */
export async function leaveOutTools(
  ports: RecoverPorts,
  overflow: Overflow,
  named: string,
  { signal }: RecoveryTime,
): Promise<Recovery | undefined> {
  const { attempt, failure } = overflow;
  const out: string[] = [];
  while (out.length < TOOLS_MAX) {
    const verdict = await takesFixedPartsOf(ports, overflow, signal);
    const tool = verdict.kind === 'refused' ? verdict.failure.tool : undefined;
    if (tool === undefined || !ports.tools.exclude(tool, failure.reason)) break;
    out.push(tool);
  }
  if (out.length === 0 && !ports.tools.excluded().some(({ tool }) => tool === named)) return undefined;
  // Not a recovery of the message itself, so it is not counted; a request without these tools is a different one.
  await commit(ports.observability, attempt, {
    step: `without ${[named, ...out].join(' ')}`,
    changes: [attempt.turn.renewAttempts()],
    events: out.map((tool) => ({ event: 'tool.excluded', tool })),
  });
  return { kind: 'again' };
}

/** Listed among the kinds that were tried. */
const COUNTED = 'counted';

/** Whether the endpoint's own count says that the present request fits. */
function isCountedToFit(attempt: Attempt): boolean {
  return attempt.turn.countedToFit === requestOf(attempt);
}

/**
 * Before a step that costs a session, or a part of a message: the endpoint's own count is asked, where it offers one.
 * Where it says that the request fits in `fittingTokens`, the request is sent as it is: if only our own count was against it,
 * and once more in all if the endpoint had refused it. Returns nothing where the step has to be taken.
 */
export async function tryAsCounted(
  { attempt, failure, opened, countTokens }: Overflow,
  fittingTokens: number,
  signal: AbortSignal,
): Promise<Recovery | undefined> {
  const isOwnCount = failure.reason === 'counted_too_long';
  if (isOwnCount ? isCountedToFit(attempt) || opened.window.omitted > 0 : attempt.turn.tried.includes(COUNTED))
    return undefined;
  const tokens = await countTokens(signal);
  if (tokens === undefined || tokens > fittingTokens) return undefined;
  const { turn } = attempt;
  const noted = isOwnCount ? turn.countToFit(requestOf(attempt)) : turn.noteTried(COUNTED);
  // The request was not sent again: no attempt is used.
  await attempt.write('', [noted, turn.freeAttempt()]);
  return { kind: 'again' };
}

function requestOf({ session, rounds, recoveries }: Attempt): string {
  return `${session} ${rounds} ${recoveries}`;
}

/**
 * Prevention: a request that we count as too long or too large is not sent. A session is full when a load had to omit
 * records: they must not disappear unnoticed. The last stage of a message is sent all the same: a count is an estimate,
 * and otherwise the user would get nothing.
 */
export function countedTooLarge(
  settings: Settings,
  { attempt, opened, room, windowTokens }: Pick<Overflow, 'attempt' | 'opened' | 'windowTokens'> & { room: Room },
  tokens: number,
): Failure | undefined {
  if (attempt.stage === 'scrubbed') return undefined;
  const usable = attempt.turn.isUncompacted
    ? usableTokens(modelWindow(windowTokens, attempt.limit, settings), settings.maxOutputTokens)
    : room.usableTokens;
  const isTooLong = tokens > usable && !isCountedToFit(attempt);
  if (isTooLong || opened.window.omitted > 0)
    return { kind: 'token', reason: 'counted_too_long', observedTokens: tokens, limitTokens: room.limitTokens };
  const isLarge = areLargerThan(HISTORY_BYTES_MAX, asShown(opened.window.records));
  return isLarge ? { kind: 'wire', reason: 'counted_too_large' } : undefined;
}
