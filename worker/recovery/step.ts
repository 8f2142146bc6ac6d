import type { ReachFailpoint } from '../../shared/failpoint.ts';
import type { InboundMessage } from '../../shared/message.ts';
import { SPAN, type Telemetry } from '../../shared/telemetry.ts';
import type { Attempt, Command, Conclusion, RecoveryStage } from '../attempt.ts';
import type { Failure } from '../model/classify.ts';
import type { Model } from '../model/model.ts';
import type { UserRecord } from '../session/record.ts';
import type { OpenedSession, Sessions } from '../session/store.ts';
import type { Trigger } from './policy.ts';

/** What the steps of a recovery work with. */
export interface RecoverParts {
  model: Model;
  compactionModel: string;
  maxOutputTokens: number;
  /** What a summary must keep besides the usual, in the operator's words; may be empty. */
  preserve: string;
  sessions: Sessions;
  telemetry: Telemetry;
  reach: ReachFailpoint;
}

/** What failed, with what it was about. */
export interface Overflow {
  attempt: Attempt;
  message: InboundMessage;
  pending: UserRecord;
  opened: OpenedSession;
  failure: Failure & { kind: Trigger };
  /** The window as known when the call was made. */
  limitTokens: number;
}

/** The message goes back to the head of the queue, or it ends here. */
export type Recovery = { do: 'again' } | { do: 'conclude'; conclusion: Conclusion; commands: Command[] };

/** The stage, one recovery more, and a fresh count of attempts: progress was made. */
export function moveTo(attempt: Attempt, stage: RecoveryStage): Command[] {
  const turn = attempt.keys.turn(attempt.entry);
  return [
    ['HSET', turn, 'stage', stage, 'attempts', 0],
    ['HINCRBY', turn, 'recoveries', 1],
  ];
}

/** The command that keeps a window which an error stated to be smaller than what was known. */
export function learnLimit(attempt: Attempt, knownTokens: number, limitTokens: number): Command[] {
  if (limitTokens >= knownTokens) return [];
  return [['HSET', attempt.keys.session(attempt.session), 'limitTokens', limitTokens]];
}

/** Says that a stage threw, was refused or did not hold. */
export function reportFailedStage({ telemetry }: RecoverParts, stage: RecoveryStage, why: string): void {
  telemetry.mark(SPAN.overflowRecoveryFailed, { 'spillway.recovery.stage': stage, 'error.type': why });
}
