import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import { SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import {
  type Attempt,
  type Command,
  type Conclusion,
  OUTAGE_FIELDS,
  type RecoveryStage,
  TIMEOUTS,
} from '../lane/attempt.ts';
import { bindsThinking } from '../model/catalog.ts';
import type { Failure } from '../model/errors/classify.ts';
import type { Model } from '../model/port.ts';
import type { RoomSettings } from '../model/room.ts';
import type { LogRecord, ScrubRecord, TrimRecord, UserRecord } from '../session/record.ts';
import { newStamp, type OpenedSession, type Sessions } from '../session/store.ts';
import type { Recovering } from '../turn/deadline.ts';
import type { FixedParts, FixedPartsCheck } from './fixed-parts.ts';
import type { Part } from './oversized.ts';
import type { Trigger } from './policy.ts';
import type { StormGuard } from './storm.ts';

/** What the steps of a recovery work with. */
export interface RecoverParts extends RoomSettings {
  model: Model;
  modelName: string;
  /** Asked when the first one is in trouble that will pass; never for an overflow. */
  fallbackModel: string | undefined;
  compactionModel: string;
  /** What a summary must keep besides the usual, in the operator's words; may be empty. */
  preserve: string;
  /** Whether a summary may read the conversation itself from the provider's cache, where that is cheaper. */
  summariesFromCache: boolean;
  /** How long a summary waits for an endpoint in trouble. */
  summaryPatienceMs: number;
  /** Tells whether the endpoint takes what every request holds. */
  fixedParts: FixedPartsCheck;
  fixedRequest(): FixedParts;
  /** Takes a tool out for the whole process; `false` where it was taken out before, or must stay. Idempotent. */
  excludeTool(name: string, why: string): boolean;
  isToolOut(name: string): boolean;
  /** Keeps chats from being recovered one and all when the window is wrong. */
  storm: StormGuard;
  /** Models that turned out to bind their thinking, whatever their names say; grows as errors teach it. */
  boundModels: Set<string>;
  /** Gives a recovery its own deadline. */
  recovering: Recovering;
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
  /** What the request came to, by our count. */
  sentTokens: number;
  /** What every request holds, by our count: system prompt and tools. */
  fixedTokens: number;
  /** The most output that the model gives, where it is known. */
  modelOutputTokens: number | undefined;
  /** What the request asked for. */
  askedOutputTokens: number;
  /** Whether the request had to be repaired before it was sent: then it was not quite what the view made. */
  isRepaired: boolean;
}

/** The time limits of a recovery. */
export interface RecoveryTime {
  /** Aborted when the recovery must stop, for whatever reason. */
  signal: AbortSignal;
  /** Aborted when its own time is over: then it goes on without a model. */
  deadline: AbortSignal;
}

/** The message goes back to the head of the queue, or it ends here. */
export type Recovery =
  | { do: 'again' }
  /** Nothing could be asked just now: nothing was changed. */
  | { do: 'wait'; failure: Failure }
  | { do: 'conclude'; conclusion: Conclusion; commands: Command[] };

/** The stage, one recovery more, and a fresh count of attempts: progress was made. */
export function moveTo(attempt: Attempt, stage: RecoveryStage): Command[] {
  const turn = attempt.keys.turn(attempt.entry);
  return [
    ['HSET', turn, 'stage', stage, 'attempts', 0],
    ['HINCRBY', turn, 'recoveries', 1],
    ['HDEL', turn, TIMEOUTS, ...OUTAGE_FIELDS],
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

/** The record that shows a part shortened, under the message's own id; answers and results are known by their own. */
export function scrubOf({ record, block, instead }: Part): ScrubRecord {
  const isMessage = record.t === 'user' && record.entry !== undefined;
  const target = isMessage ? { entry: record.entry } : { record: record.id };
  return { v: 1, t: 'scrub', ...newStamp(), ...target, ...(block !== undefined && { block }), text: instead };
}

/** What goes with a change of an earlier part where the model binds its thinking to it: the thinking is left out. */
export function thinkingTrim({ modelName, boundModels }: RecoverParts, records: readonly LogRecord[]): TrimRecord[] {
  return bindsThinking(modelName) || boundModels.has(modelName) ? [trimOf('thinking', records)] : [];
}

/** An error that states a smaller window states nonsense. */
export const LIMIT_TOKENS_MIN = 1_000;

/** A window as an error taught it: stated, or guessed since the error had no numbers. */
export interface LearntLimit {
  limitTokens: number;
  isGuess: boolean;
}

/** A guess may be wrong, and would shrink a chat for ever. */
const GUESS_KEEP_MS = 24 * 3600_000;

/** The command that keeps a window which an error taught to be smaller than what was known. */
export function learnLimit(
  { keys, session }: Attempt,
  knownTokens: number,
  { limitTokens, isGuess }: LearntLimit,
): Command[] {
  if (limitTokens >= knownTokens) return [];
  const untilMs = isGuess ? Date.now() + GUESS_KEEP_MS : 0;
  return [['HSET', keys.session(session), 'limitTokens', limitTokens, 'limitUntilMs', untilMs]];
}

/** Says that a stage threw, was refused or did not hold. */
export function reportFailedStage({ telemetry }: RecoverParts, stage: RecoveryStage, why: string): void {
  telemetry.mark(SPAN.overflowRecoveryFailed, { 'spillway.recovery.stage': stage, 'error.type': why });
}
