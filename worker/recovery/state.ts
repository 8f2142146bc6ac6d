import type { RecoveryStage } from '../../shared/state/turn/record.ts';
import type { Room } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model, ModelRequest } from '../model/port.ts';
import type { CompactionFailure } from './window-compaction.ts';

/** The state of a failed call, its message and its chat: the input of `decide`. Sizes are our own counts, in tokens. */
export interface RecoveryState {
  stage: RecoveryStage;
  /** The bounded steps that were taken for this request, and `summary` and `quoteless` for the message. */
  tried: readonly Tried[];
  /** Failed calls of this message since its last round of tools, this one included and waits for the endpoint excluded. */
  failedCalls: number;
  /** Whether the message runs in a fresh session that its chat moves to only once it is answered there. */
  isOnTrial: boolean;
  /** Messages of this session in a row that ended refused before this one. */
  refusedInRow: number;
  /** Compactions of this session in a row that came to nothing, or left it full. */
  vainCompactions: number;
  /** Whether the chat chose this model with a command, and another one is its default. */
  isModelChosen: boolean;
  sizes: Sizes;
  /** Whether a load had to leave out records of the session. */
  isOmitting: boolean;
  /** Whether the session holds anything before this message. */
  hasHistory: boolean;
  /** Whether the newest round is a batch of tool results. */
  isMidTurn: boolean;
  /** How the message has waited for the endpoint so far, this attempt included. */
  outage: { waitedMs: number; tries: number };
  /** The number of this attempt since something last changed; 1 is the first. */
  attempts: number;
  /** Calls that fell silent after they had said something. */
  silences: number;
  /** Whether the model had begun to answer: then it had accepted the request. */
  hasWords: boolean;
  /** A number from 0 to 1 that spreads the waits of many chats. */
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
  /** The limits that the recovered request has to fit. */
  room: Pick<Room, 'limitTokens' | 'usableTokens' | 'fullTokens'>;
  /** The model's window, as far as errors had shown it before this failure. */
  known: number;
  /** The model's window as its endpoint or the operator states it. */
  stated: number;
  /** The most input that fits the stated window. */
  statedUsable: number;
}

/** The observations that cost a call. Absent: not made yet. */
export interface Evidence {
  /** The endpoint's own count of the request, in tokens; `unknown` where it offers none. */
  count?: number | 'unknown';
  /** Whether the endpoint accepts the fixed parts alone; `unclear` if that call failed for a passing reason. */
  fixedParts?: FixedPartsWord;
  /** Why the conversation could not be compacted. */
  compaction?: Uncompacted;
}

/** Why a conversation could not be compacted; `away`: the summariser was in passing trouble. */
export interface Uncompacted {
  reason: CompactionFailure['reason'] | 'recovery_timeout';
  /** How long the attempt at a summary took. */
  tookMs: number;
  failure?: Failure;
}

export type FixedPartsWord = { kind: 'taken' | 'refused' | 'unclear'; failure?: Failure };

/**
 * Asks the endpoint, with one short request, whether it accepts the fixed parts alone. One call serves all chats of the
 * process that fail for the same cause. An acceptance puts the blame on the chat, so it must be newer than the failure:
 * callers share only a call that begins after they asked. A refusal blames no chat, so it is cached for a while.
 *
 * Contract: never throws. Not idempotent: a call is billed. On abort the word is `unclear`.
 */
export type FixedPartsCheck = (
  model: Model,
  fixed: FixedParts,
  failure: Failure,
  signal: AbortSignal,
) => Promise<FixedPartsWord>;

/** The parts of every request, for all chats with the same settings. */
export type FixedParts = Pick<ModelRequest, 'model' | 'system' | 'tools' | 'serverTools' | 'maxTokens' | 'effort'>;

/** Steps that have a bound. */
export type Tried =
  | `repeat ${Failure['kind']}`
  | LeftOut
  | 'trim'
  | 'output'
  | 'as it is'
  | 'summary'
  | 'mask'
  | 'quoteless';

/** What can be left out of a request; the media that an error names come first. */
export type LeftOut = 'thinking' | 'named media' | 'newest media' | 'all media' | 'largest parts' | 'results';

/** One step of recovery; the files beside this one carry the steps out. */
export type Step =
  /** Sends the same request once more: a second observation. */
  | { do: 'repeat'; delayMs: number }
  /** Asks the endpoint for its count of the request, or whether it takes the fixed parts alone. */
  | { do: 'ask'; what: 'count' | 'fixed parts' }
  | Wait
  /** Sends a request that only our own count found too long. */
  | { do: 'send as it is' }
  | { do: 'trim'; tokens: number }
  /** Has a model summarise the older part, or only shortens old tool results to a line each. */
  | { do: 'compact'; how: 'summary' | 'mask' }
  | { do: 'fresh session'; quotes: boolean; isTrial: boolean }
  | { do: 'leave out'; what: LeftOut }
  | { do: 'change output' }
  | { do: 'exclude tools'; named: string }
  /** Has the chat's default model answer this message. */
  | { do: 'use default model' }
  | Fail
  /** Refuses the message: a budget is used up. */
  | { do: 'refuse'; why: Failure };

/** A wait for a passing failure; `waitedMs` and `tries` include this wait. */
export interface Wait {
  do: 'wait';
  why: Failure;
  delayMs: number;
  waitedMs: number;
  tries: number;
  /** Whether it uses up no attempt. */
  isUncounted: boolean;
  /** Whether the person is to be told that the message waits. */
  isLong: boolean;
}

/** Ends the message as failed; `trouble` says what is broken. */
export interface Fail {
  do: 'fail';
  trouble: 'endpoint' | 'silence' | 'account' | 'fixed parts' | 'message';
  /** The failure that ends the message, where another call failed than that of the message. */
  why?: Failure;
}
