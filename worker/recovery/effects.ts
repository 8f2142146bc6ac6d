import type { Observability } from '../../shared/base/observability.ts';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Budget } from '../../shared/state/spending/budget.ts';
import type { Attempt, RecoveryStage } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import type { Ending } from '../lane/verdict.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model } from '../model/port.ts';
import type { OpenedSession } from '../session/held-window.ts';
import type { UserRecord } from '../session/record.ts';
import type { ConversationStore } from '../session/store.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import type { Exclusions } from '../tools/toolboxes.ts';
import { type FixedParts, type FixedPartsVerdict, fixedPartsOf } from './fixed-parts.ts';
import type { Trigger } from './policy.ts';

/** The ports of the steps of a recovery. */
export interface RecoverPorts {
  settings: Settings;
  endpoint: Endpoint;
  tools: Toolbox & Exclusions;
  store: Pick<ConversationStore, 'sessions' | 'media'>;
  observability: Pick<Observability, 'telemetry' | 'reach'>;
}

/** A call that failed, and the request that it was about. */
export interface Overflow {
  attempt: Attempt;
  message: InboundMessage;
  pending: UserRecord;
  opened: OpenedSession;
  failure: Failure & { kind: Trigger };
  /** The window as known when the call was made. */
  limitTokens: number;
  /** The window of the model itself, even if the chat may use less of it. */
  windowTokens: number;
  /** The size of the request, by our count. */
  sentTokens: number;
  /** The tokens of the parts of every request, by our count: system prompt and tools. */
  fixedTokens: number;
  /** The most output that the model gives, where known. */
  modelOutputTokens: number | undefined;
  /** The output that the request asked for. */
  askedOutputTokens: number;
  /** The tokens of the newest message alone, by our count. */
  messageTokens: number;
  /** The endpoint's own count; `undefined` where it does not say. Contract: never rejects. */
  countTokens: (signal: AbortSignal) => Promise<number | undefined>;
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
  | Ending;

/** The endpoint of the model, with what this process has learned from its failures. */
export interface Endpoint {
  model: Model;
  /** The budget that bounds the cost of its calls; absent where nothing does. */
  budget: Pick<Budget, 'spentBy' | 'nearlySpent'> | undefined;
  /**
   * Whether it takes what every request holds, without anything that was said in a chat. Contract: never throws; one call
   * serves all chats that fail for the same cause; on abort the verdict is `unclear`.
   */
  takesFixedParts(fixed: FixedParts, failure: Failure, signal: AbortSignal): Promise<FixedPartsVerdict>;
  /** Models found to bind their thinking, whatever their names suggest; grows as errors show it. */
  boundModels: Set<string>;
}

/** Whether the endpoint takes what every request of this chat holds. Contract: as `Endpoint.takesFixedParts`. */
export function takesFixedPartsOf(
  { endpoint, settings, tools }: RecoverPorts,
  { failure, askedOutputTokens: maxTokens }: Overflow,
  signal: AbortSignal,
): Promise<FixedPartsVerdict> {
  return endpoint.takesFixedParts({ ...fixedPartsOf(settings, tools.specs()), maxTokens }, failure, signal);
}

/** Reports that a stage threw, was refused or did not hold. */
export function reportFailedStage({ observability }: RecoverPorts, stage: RecoveryStage, why: string): void {
  const attributes = { 'spillway.recovery.stage': stage, 'error.type': why };
  observability.telemetry.mark(SPAN.overflowRecoveryFailed, attributes);
}
