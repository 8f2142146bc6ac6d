import type { RecoveryStage } from '../../shared/state/turn/record.ts';
import type { Room } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model, ModelRequest } from '../model/port.ts';
import type { CompactionFailure } from './window-compaction.ts';

/** The state of a failed call, its message and its chat: the input of `decide`. Sizes are our own counts, in tokens. */
export interface RecoveryState {
  stage: RecoveryStage;
  /** The limited steps that were tried for this request or, in the case of `summary` and `quoteless`, for the message. */
  tried: readonly Tried[];
  /**
   * How many calls of this message have failed since its last round of tools. Counts the present call, but no call after
   * which the message waits for the endpoint.
   */
  failedCalls: number;
  /** Whether the message runs in a fresh session to which the chat moves only with the answer. */
  isOnTrial: boolean;
  /** How many messages of this session were refused in a row, immediately before this one. */
  refusedInRow: number;
  /** How many compactions in a row failed in this session, or left the session full. */
  vainCompactions: number;
  /** Whether the chat chose the present model with a command, and its default is a different model. */
  isModelChosen: boolean;
  sizes: Sizes;
  /** Whether the load had to omit records of the session. */
  isOmitting: boolean;
  /** Whether the session has anything before this message. */
  hasHistory: boolean;
  /** Whether the newest round is a batch of tool results. */
  isMidTurn: boolean;
  /** The message's waits for the endpoint so far. After the first wait, `waitedMs` includes this attempt so far. */
  outage: { waitedMs: number; tries: number };
  /** The number of this attempt, from 1, since the request last changed. */
  attempts: number;
  /** The number of calls that timed out in silence since the last answer or recovery. */
  silences: number;
  /** Whether the model has begun to answer, now or in an earlier attempt. If so, the endpoint had accepted the request. */
  hasWords: boolean;
  /** A random number from 0 to 1 for the jitter of the waits. */
  spread: number;
  evidence: Evidence;
}

/** The sizes of a request and of the room for it. */
export interface Sizes {
  request: number;
  /** System prompt and tools. */
  fixed: number;
  /** The newest message with its files, or the newest batch of tool results. */
  round: number;
  /** The limits that the request must fit after this failure. */
  room: Pick<Room, 'limitTokens' | 'usableTokens' | 'fullTokens'>;
  /** The smaller of `statedWindow` and the window learnt from errors before this failure. */
  knownWindow: number;
  /** The model's window as the operator, the endpoint or our list of models states it. */
  statedWindow: number;
  /** The maximum input with which the output still fits the stated window. */
  statedUsable: number;
}

/** The observations that cost a call; absent before they are made. */
export interface Evidence {
  /** The endpoint's own count of the request, in tokens; `unknown` if the endpoint gives none. */
  count?: number | 'unknown';
  /** Whether the endpoint accepts the fixed parts alone; `unclear` after a transient failure or a used-up budget. */
  fixedParts?: FixedPartsAnswer;
  /** Why the conversation could not be compacted. */
  compaction?: Uncompacted;
}

/** Why a conversation could not be compacted. `away`: a transient failure of the summariser, or no call could be made. */
export interface Uncompacted {
  reason: CompactionFailure['reason'] | 'recovery_timeout';
  /** How long the attempt at a summary took. */
  tookMs: number;
  failure?: Failure;
}

export type FixedPartsAnswer = { kind: 'taken' | 'refused' | 'unclear'; failure?: Failure };

/**
 * Asks the endpoint, with one short request, whether it accepts the fixed parts alone. One call may serve all chats of the
 * process that fail for the same cause. If the endpoint accepts the parts, the chat is the cause. An acceptance must be newer
 * than the failure, so callers share only a call that begins after they asked. A refusal concerns all chats alike, so it is
 * cached for some seconds.
 *
 * Contract: never throws. Not idempotent: a call is billed. On abort the answer is `unclear`.
 */
export type FixedPartsCheck = (
  model: Model,
  fixed: FixedParts,
  failure: Failure,
  signal: AbortSignal,
) => Promise<FixedPartsAnswer>;

/** The parts of every request, for all chats with the same settings. */
export type FixedParts = Pick<ModelRequest, 'model' | 'system' | 'tools' | 'serverTools' | 'maxTokens' | 'effort'>;

/** The steps with a limited number of tries. */
export type Tried =
  | `repeat ${Failure['kind']}`
  | LeftOut
  | 'trim'
  | 'output'
  | 'as it is'
  | 'summary'
  | 'mask'
  | 'quoteless';

/** The parts that a step can omit from a request. */
export type LeftOut = 'thinking' | 'named media' | 'newest media' | 'all media' | 'largest parts' | 'results';

/** One step of recovery; the other files of this folder carry the steps out. */
export type Step =
  /** Sends the same request once more, as a second observation. */
  | { do: 'repeat'; delayMs: number }
  /** Asks the endpoint for its count of the request, or whether it accepts the fixed parts alone. */
  | { do: 'ask'; what: 'count' | 'fixed parts' }
  | Wait
  /** Sends a request that is too long only by our own count. */
  | { do: 'send as it is' }
  | { do: 'trim'; tokens: number }
  /** Lets a model summarise the older part, or only masks old tool results. */
  | { do: 'compact'; how: 'summary' | 'mask' }
  | { do: 'fresh session'; quotes: boolean; isTrial: boolean }
  | { do: 'leave out'; what: LeftOut }
  | { do: 'change output' }
  | { do: 'exclude tools'; named: string }
  /** Lets the chat's default model answer this message. */
  | { do: 'use default model' }
  | Fail
  /** Refuses the message because a budget is used up. */
  | { do: 'refuse'; why: Failure };

/** A wait after a transient failure. `waitedMs` and `tries` include this wait if it is a wait for the endpoint. */
export interface Wait {
  do: 'wait';
  why: Failure;
  delayMs: number;
  waitedMs: number;
  tries: number;
  /** Whether the wait does not count as an attempt. */
  isUncounted: boolean;
  /** Whether the person gets a notice that the message waits. */
  isLong: boolean;
}

/** Ends the message as failed; `trouble` names the cause. */
export interface Fail {
  do: 'fail';
  trouble: 'endpoint' | 'silence' | 'account' | 'fixed parts' | 'message';
  /** The failure to report for the message, if the failed call was not the message's own, but e.g. the call for a summary. */
  why?: Failure;
}
