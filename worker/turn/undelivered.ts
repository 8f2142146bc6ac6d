import { type Alert, alertCommand } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { Delivered } from '../lane/verdict.ts';
import { clearReported } from './not-taken.ts';

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
