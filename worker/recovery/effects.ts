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

/** A call to the model in one round of a message. Sizes are in tokens; those of the request are our own counts. */
export interface Call {
  turn: Turn<Env>;
  message: InboundMessage;
  /** The message as a record of the log. */
  pending: UserRecord;
  loadedSession: LoadedSession;
  room: Room;
  /** The window of the model itself, as the operator, the endpoint or our list of models states it. */
  windowTokens: number;
  /** The maximum output of the model; `undefined` if unknown. */
  modelOutputTokens: number | undefined;
  /** The size of the newest message with its files, or of the newest batch of tool results. */
  roundTokens: number;
  /** The factor that turns our estimates into the model's tokens. */
  calibration: number;
}

/** The sizes of a request. */
export interface RequestSizes {
  count: Count;
  sentTokens: number;
  /** The size of the fixed parts: system prompt and tools. */
  fixedTokens: number;
  /** The maximum output that the request asked for. */
  askedOutputTokens: number;
}

/** A call that failed. */
export interface FailedCall extends Call, RequestSizes {
  failure: Failure;
  /** The endpoint's own count of the request; `undefined` if the endpoint gives none. Rejects if files cannot be loaded. */
  countTokens: (signal: AbortSignal) => Promise<number | undefined>;
  /** Whether the model has begun to answer, now or in an earlier attempt. If so, the endpoint had accepted the request. */
  hasWords: boolean;
  /** The limited steps that were tried so far: those that are stored, and those that had nothing to do in this attempt. */
  tried: readonly Tried[];
}

/** Steps whose limit holds for the whole message; the limits of all other steps hold for one request. */
const PER_MESSAGE: ReadonlySet<Tried> = new Set<Tried>(['summary', 'quoteless']);

/** The limited steps of this turn that were tried for the present request, or that count for the whole message. */
export function triedBy(turn: Turn): Tried[] {
  const { rounds, stage } = turn;
  return turn.tried.flatMap((stepAndRequest) => {
    const [step = '', request] = stepAndRequest.split('@');
    return request === undefined || request === `${rounds} ${stage}` ? [step as Tried] : [];
  });
}

/** The changes that store a recovery step: the stage that follows, the number of recoveries, and the limited steps tried. */
export function changesOfStep(call: FailedCall, step?: Tried, stage: RecoveryStage = call.turn.stage): Change[] {
  return [...call.turn.enter(stage), ...changesToNote(call, step)];
}

/** The changes that store the limited step, if any, and the limited steps that had nothing to do earlier in this attempt. */
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

/** Reports in the trace that a recovery stage threw, was refused or did not help. */
export function reportFailedStage(env: Env, stage: RecoveryState['stage'], why: string): void {
  const attributes = { 'spillway.recovery.stage': stage, 'error.type': why };
  env.telemetry.mark(SPAN.overflowRecoveryFailed, attributes);
}
