import type { Budget } from '../../shared/state/spending/budget.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model } from '../model/port.ts';
import type { FixedPartsVerdict } from './fixed-parts.ts';
import type { StormGuard } from './storm.ts';

/** The endpoint of the model, with what this process has learned from its failures. */
export interface Endpoint {
  model: Model;
  /** What bounds the cost of its calls; absent where nothing does. */
  budget: Pick<Budget, 'spentBy' | 'nearlySpent'> | undefined;
  /**
   * Whether it takes what every request holds, without anything from a chat. Contract: never throws; one call serves
   * all chats that fail for the same cause; on abort the verdict is `unclear`.
   */
  takesFixedParts(failure: Failure, maxTokens: number, signal: AbortSignal): Promise<FixedPartsVerdict>;
  /** Keeps a wrong window from sending every chat into recovery. */
  storm: StormGuard;
  /** Models found to bind their thinking, whatever their names suggest; grows as errors show it. */
  boundModels: Set<string>;
}
