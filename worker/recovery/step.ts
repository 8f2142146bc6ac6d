import type { ReachFailpoint } from '../../shared/failpoint.ts';
import type { InboundMessage } from '../../shared/message.ts';
import { SPAN, type Telemetry } from '../../shared/telemetry.ts';
import type { Attempt, Command, Conclusion, RecoveryStage } from '../attempt.ts';
import type { Failure } from '../model/classify.ts';
import { bindsThinking } from '../model/family.ts';
import type { Model } from '../model/model.ts';
import type { LogRecord, TrimRecord, UserRecord } from '../session/record.ts';
import { newStamp, type OpenedSession, type Sessions } from '../session/store.ts';
import type { Trigger } from './policy.ts';

/** What the steps of a recovery work with. */
export interface RecoverParts {
  model: Model;
  modelName: string;
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
  /** Whether the request had to be repaired before it was sent: then it was not quite what the view made. */
  isRepaired: boolean;
}

/** The message goes back to the head of the queue, or it ends here. */
export type Recovery =
  | { do: 'again' }
  /** No summary could be asked for just now: nothing was changed. */
  | { do: 'wait'; failure: Failure }
  | { do: 'conclude'; conclusion: Conclusion; commands: Command[] };

/** The stage, one recovery more, and a fresh count of attempts: progress was made. */
export function moveTo(attempt: Attempt, stage: RecoveryStage): Command[] {
  const turn = attempt.keys.turn(attempt.entry);
  return [
    ['HSET', turn, 'stage', stage, 'attempts', 0],
    ['HINCRBY', turn, 'recoveries', 1],
  ];
}

/** The command that remembers that a kind of failure was answered with its own step. */
export function noteTried(attempt: Attempt, kind: Trigger): Command {
  return ['HSET', attempt.keys.turn(attempt.entry), 'tried', [...attempt.tried, kind].join(',')];
}

/** The record that trims everything up to the newest record. */
export function trimOf(what: TrimRecord['what'], records: readonly LogRecord[]): TrimRecord {
  return { v: 1, t: 'trim', ...newStamp(), what, through: records.findLast(({ id }) => id !== '')?.id ?? '' };
}

/** What goes with a change of an earlier part where the model binds its thinking to it: the thinking is left out. */
export function thinkingTrim({ modelName }: RecoverParts, records: readonly LogRecord[]): TrimRecord[] {
  return bindsThinking(modelName) ? [trimOf('thinking', records)] : [];
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
