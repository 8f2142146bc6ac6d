import type { Attempt } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { Failure, FailureKind } from '../model/errors/failure.ts';

/** What these lead to takes nothing from a chat. */
const COSTS_NOTHING: ReadonlySet<FailureKind> = new Set<FailureKind>(['transient', 'fit', 'output']);
/** A request that we count as this much of the window, or more, may well be too long: our own count agrees. */
const AGREES_SHARE = 0.8;

/**
 * A refusal is believed when a second observation agrees with it: our own count of the request, or the same kind of
 * refusal of the same request a moment later. Until then the request is sent once more, unchanged, and uses no attempt.
 * Each kind is doubted once between two tool rounds, so this ends for every sequence of failures.
 *
 * Returns nothing when the refusal is to be believed. Contract: throws `FencedError`, or what Redis throws.
 */
export async function askOnceMore(
  settings: Pick<Settings, 'doubtWaitMs'>,
  attempt: Attempt,
  failure: Failure,
  size: { sentTokens: number; limitTokens: number },
): Promise<Verdict | undefined> {
  if (hasSecond(failure, size)) return undefined;
  const refusal = `${failure.kind}@${attempt.rounds}`;
  if (attempt.turn.doubted.includes(refusal)) return undefined;
  await attempt.write('', [attempt.turn.doubt(refusal)]);
  return { kind: 'later', delayMs: settings.doubtWaitMs, reason: `doubted_${failure.reason}`, isFree: true };
}

/** Whether it needs no second observation, or has one. */
function hasSecond(
  { kind, reason, isSeconded }: Failure,
  { sentTokens, limitTokens }: { sentTokens: number; limitTokens: number },
): boolean {
  if (isSeconded === true || COSTS_NOTHING.has(kind) || reason.startsWith('counted_')) return true;
  return kind === 'token' && sentTokens >= limitTokens * AGREES_SHARE;
}
