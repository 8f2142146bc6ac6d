import type { Instruments } from '../../shared/base/instruments.ts';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Change } from '../../shared/state/change.ts';
import { type Attempt, OUTAGE_FIELDS, type RecoveryStage, SILENCES } from '../lane/attempt.ts';
import { limitOwner, type Settings } from '../lane/settings.ts';
import type { Concluding } from '../lane/verdict.ts';
import { bindsThinking } from '../model/catalog.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { OpenedSession } from '../session/held-window.ts';
import type { LogRecord, ScrubRecord, TrimRecord, UserRecord } from '../session/record.ts';
import type { ConversationStore } from '../session/store.ts';
import { newStamp } from '../session/store.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import type { Exclusions } from '../tools/toolboxes.ts';
import type { Endpoint } from './endpoint.ts';
import type { LearntLimit } from './learnt-limit.ts';
import type { Part } from './oversized.ts';
import type { Trigger } from './policy.ts';

/** What the steps of a recovery work with. */
export interface RecoverPorts {
  settings: Settings;
  endpoint: Endpoint;
  tools: Toolbox & Exclusions;
  store: Pick<ConversationStore, 'sessions' | 'media'>;
  instruments: Pick<Instruments, 'telemetry' | 'reach'>;
}

/** What failed, and the request that it was about. */
export interface Overflow {
  attempt: Attempt;
  message: InboundMessage;
  pending: UserRecord;
  opened: OpenedSession;
  failure: Failure & { kind: Trigger };
  /** The window as known when the call was made. */
  limitTokens: number;
  /** What the model itself takes, even if the chat may use less of it. */
  windowTokens: number;
  /** The size of the request, by our count. */
  sentTokens: number;
  /** What every request holds, by our count: system prompt and tools. */
  fixedTokens: number;
  /** The most output that the model gives, where known. */
  modelOutputTokens: number | undefined;
  /** What the request asked for. */
  askedOutputTokens: number;
  /** What the newest message alone costs, by our count. */
  messageTokens: number;
  /** What the endpoint itself counts; absent where it does not say. Contract: never rejects. */
  countTokens: (signal: AbortSignal) => Promise<number | undefined>;
  /** Whether the request was repaired before it was sent: then it differs from what the view made. */
  isRepaired: boolean;
}

/** The time limits of a recovery. */
export interface RecoveryTime {
  /** Aborted when the recovery must stop, for whatever reason. */
  signal: AbortSignal;
  /** Aborted when its own time is over: then it continues without a model. */
  deadline: AbortSignal;
}

/** The message returns to the head of the queue, or it ends here. */
export type Recovery =
  | { kind: 'again' }
  /** Nothing could be asked just now, and nothing was changed. */
  | { kind: 'wait'; failure: Failure }
  | Concluding;

/** The stage, one more recovery, and a reset count of attempts: progress was made. */
export function moveTo(attempt: Attempt, stage: RecoveryStage): Change[] {
  const turn = attempt.keys.turn(attempt.entry);
  return [
    ['HSET', turn, 'stage', stage, 'attempts', 0],
    ['HINCRBY', turn, 'recoveries', 1],
    ['HDEL', turn, SILENCES, ...OUTAGE_FIELDS],
  ];
}

/** The command that records that a kind of failure was answered with its own step, or a step of its own was taken. */
export function noteTried(attempt: Attempt, kind: Trigger | 'counted' | 'shortened'): Change {
  return ['HSET', attempt.keys.turn(attempt.entry), 'tried', [...attempt.tried, kind].join(',')];
}

/** The command that keeps what the answer says of how its message was read; a later reading replaces an earlier one. */
export function tellReading({ keys, entry }: Attempt, notices: readonly string[]): Change {
  return ['HSET', keys.turn(entry), 'readingNotices', JSON.stringify([...new Set(notices)])];
}

/** The record that trims everything up to the newest record. */
export function trimOf(what: TrimRecord['what'], records: readonly LogRecord[]): TrimRecord {
  return { v: 1, t: 'trim', ...newStamp(), what, through: records.findLast(({ id }) => id !== '')?.id ?? '' };
}

/** The record that shows a part shortened, under the message's own id; answers and results have ids of their own. */
export function scrubOf({ record, block, instead }: Part): ScrubRecord {
  const isMessage = record.t === 'user' && record.entry !== undefined;
  const target = isMessage ? { entry: record.entry } : { record: record.id };
  return { v: 1, t: 'scrub', ...newStamp(), ...target, ...(block !== undefined && { block }), text: instead };
}

/** Omits the thinking when an earlier part changes, where the model binds its thinking to that part. */
export function thinkingTrim(
  { settings: { modelName }, endpoint: { boundModels } }: Pick<RecoverPorts, 'settings' | 'endpoint'>,
  records: readonly LogRecord[],
): TrimRecord[] {
  return bindsThinking(modelName) || boundModels.has(modelName) ? [trimOf('thinking', records)] : [];
}

/** How long a learnt window holds: what was true of an endpoint once need not be true for ever. */
const LEARNT_KEEP_MS = 24 * 3600_000;

/** The commands that keep a window which errors showed to be smaller than known, for this endpoint and model. */
export function learnLimit(
  { keys, session }: Pick<Attempt, 'keys' | 'session'>,
  settings: Settings,
  { keptTokens }: LearntLimit,
): Change[] {
  if (keptTokens === undefined) return [];
  const untilMs = Date.now() + LEARNT_KEEP_MS;
  const of = limitOwner(settings);
  return [['HSET', keys.session(session), 'limitTokens', keptTokens, 'limitUntilMs', untilMs, 'limitOf', of]];
}

/** Reports that a stage threw, was refused or did not hold. */
export function reportFailedStage(
  { instruments: { telemetry } }: RecoverPorts,
  stage: RecoveryStage,
  why: string,
): void {
  telemetry.mark(SPAN.overflowRecoveryFailed, { 'spillway.recovery.stage': stage, 'error.type': why });
}
