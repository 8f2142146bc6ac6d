import { type Alert, alertCommand } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import { conclude, type Delivered, refused, type Verdict } from '../lane/verdict.ts';

const REASON = 'lane_full';
const WAIT_MS = 1_000;
/** What was taken meanwhile waits behind, so a flood without an end is told from time to time. */
const LOOKS_MAX = 10;

/**
 * The end of a message that a full lane did not take. The first of them waits until a second was quiet; then its notice
 * counts all that wait in the lane. The others are marked as told in the same step, and end in their turn without a
 * word. Those directly behind end at once with it.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function notTaken({ lane }: { lane: Pick<Lane, 'refusedBehind'> }, attempt: Attempt): Promise<Verdict> {
  const teller = attempt.turn.company.reportedBy;
  const { adjacent, others } = await lane.refusedBehind(attempt.lane, teller !== undefined);
  const also = adjacent.length > 0 && { also: adjacent };
  if (teller !== undefined) return conclude({ outcome: 'refused', reason: REASON, into: teller, parts: [], ...also });
  const count = 1 + adjacent.length + others.length;
  if (await isGrowing(attempt, count)) return { kind: 'later', delayMs: WAIT_MS, reason: REASON, isFree: true };
  const told = others.length > 0 && { told: others };
  const marks = others.map((entry) => turnOf(attempt.keys, entry).company.reportBy(attempt.entry));
  return conclude({ ...refused(REASON, attempt.texts.laneFull(count)), ...also, ...told }, { changes: marks });
}

/** Where the notice could not be delivered, nobody was told: each of the others has to do that itself. */
export function clearReported({ keys }: Attempt, { told = [] }: Conclusion): Change[] {
  return told.map((entry) => turnOf(keys, entry).company.clearReported());
}

async function isGrowing({ turn, write }: Attempt, count: number): Promise<boolean> {
  const seen = turn.company.refusedSeen;
  if (seen.count === count || seen.looks >= LOOKS_MAX) return false;
  await write('', [turn.company.seeRefused(count, seen.looks + 1)]);
  return true;
}

/** Why a conclusion is not delivered. */
export interface Undeliverable {
  /** `undeliverable`: Telegram itself says never. `failed`: nobody says so, but it cannot wait any longer. */
  outcome: 'undeliverable' | 'failed';
  reason: string;
  alert: Alert;
  commands?: readonly Change[];
}

/**
 * The end of a message whose conclusion is not delivered: only the operator can be notified. An answer is kept with its
 * dead letter, so that it can be delivered later without asking the model again.
 */
export async function undelivered(
  attempt: Attempt,
  conclusion: Conclusion,
  { outcome, reason, alert, commands = [] }: Undeliverable,
): Promise<Delivered> {
  const { also } = conclusion;
  await attempt.write(outcome, [alertCommand(attempt.keys, alert), ...clearReported(attempt, conclusion), ...commands]);
  return {
    kind: 'settle',
    conclusion: { outcome, reason, parts: [], ...(also && { also }) },
    ...(isKept(conclusion, outcome) && { keepsAnswer: true }),
  };
}

/**
 * The notice of a message that failed, or was refused, is of no use later: put back, the message itself is asked again.
 * Of what Telegram refuses for good only an answer is worth keeping; a reply to a command that could only wait no longer
 * is kept too, since putting the command back must not carry it out twice.
 */
function isKept({ outcome }: Conclusion, end: Undeliverable['outcome']): boolean {
  if (end === 'undeliverable') return outcome === 'answered';
  return outcome !== 'failed' && outcome !== 'refused';
}
