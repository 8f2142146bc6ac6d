import { SPAN } from '../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Change } from '../../shared/state/change.ts';
import type { RecoveryStage } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import type { Count, Room } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { LoadedSession } from '../session/held-window.ts';
import type { UserRecord } from '../session/record.ts';
import type { RecoveryState, Tried } from './state.ts';

/** A call of the model for a message, in one round of it. Sizes are in tokens, by our own count. */
export interface Call {
  turn: Turn<Env>;
  message: InboundMessage;
  /** The message as a record of the log. */
  pending: UserRecord;
  loadedSession: LoadedSession;
  /** The room that the call may fill. */
  room: Room;
  /** The window of the model itself, as its endpoint or the operator states it. */
  windowTokens: number;
  /** The most output that the model gives, if known. */
  modelOutputTokens: number | undefined;
  /** The size of the newest message, or of the newest batch of tool results. */
  roundTokens: number;
  /** The factor between our estimates and the model's tokens. */
  calibration: number;
}

/** The sizes of a request. */
export interface RequestSizes {
  count: Count;
  sentTokens: number;
  /** The size of the parts of every request: system prompt and tools. */
  fixedTokens: number;
  /** The output that the request asked for. */
  askedOutputTokens: number;
}

/** A call that failed. */
export interface FailedCall extends Call, RequestSizes {
  failure: Failure;
  /** The endpoint's own count; `undefined` if it offers none. Contract: never rejects. */
  countTokens: (signal: AbortSignal) => Promise<number | undefined>;
  /** Whether the model had begun to answer, which means that it had accepted the request. */
  hasWords: boolean;
  /** The bounded steps so far: the stored ones, and those that had nothing to do in this attempt. */
  tried: readonly Tried[];
}

/** Steps whose limit holds for the whole message; the limits of all other steps hold for one request. */
const PER_MESSAGE: ReadonlySet<Tried> = new Set<Tried>(['summary', 'quoteless']);

/** The bounded steps of this turn that count for the present request, or for the whole message. */
export function triedBy(turn: Turn): Tried[] {
  const { rounds, stage } = turn;
  return turn.tried.flatMap((stepAndRequest) => {
    const [step = '', request] = stepAndRequest.split('@');
    return request === undefined || request === `${rounds} ${stage}` ? [step as Tried] : [];
  });
}

/** The changes that store a step: the stage that follows, and the bounded steps tried so far. */
export function changesOfStep(call: FailedCall, step?: Tried, stage: RecoveryStage = call.turn.stage): Change[] {
  return [...call.turn.enter(stage), ...changesToNote(call, step)];
}

/** The changes that store a bounded step, and the bounded steps before it in this attempt that had nothing to do. */
export function changesToNote({ turn, tried }: Pick<FailedCall, 'turn' | 'tried'>, step?: Tried): Change[] {
  const { rounds, stage } = turn;
  const steps = [...tried.slice(triedBy(turn).length), ...(step ? [step] : [])];
  if (steps.length === 0) return [];
  return [turn.noteTried(steps.map((each) => (PER_MESSAGE.has(each) ? each : `${each}@${rounds} ${stage}`)))];
}

/** The kinds of failure that the message or its conversation may have caused. */
const AT_FAULT: ReadonlySet<Failure['kind']> = new Set(['media', 'poison', 'refusal', 'unknown']);

/** Whether the message of a failed call, or its conversation, may have caused the failure. */
export function mayBeAtFault({ kind }: Failure): boolean {
  return AT_FAULT.has(kind);
}

/** Reports a stage that threw, was refused or did not help. */
export function reportFailedStage(env: Env, stage: RecoveryState['stage'], why: string): void {
  const attributes = { 'spillway.recovery.stage': stage, 'error.type': why };
  env.telemetry.mark(SPAN.overflowRecoveryFailed, attributes);
}
