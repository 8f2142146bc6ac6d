import type { Failure } from '../model/errors/classify.ts';
import type { Model } from '../model/port.ts';
import type { FixedPartsVerdict } from './fixed-parts.ts';
import type { StormGuard } from './storm.ts';

/** The endpoint of the model, with what its failures have taught this process. */
export interface Endpoint {
  model: Model;
  /**
   * Whether it takes what every request holds, with nothing of any chat. Contract: never throws; one call serves all chats
   * that fail for the same cause; on abort the verdict is `unclear`.
   */
  takesFixedParts(failure: Failure, maxTokens: number, signal: AbortSignal): Promise<FixedPartsVerdict>;
  /** Keeps chats from being recovered one and all when the window is wrong. */
  storm: StormGuard;
  /** Models that turned out to bind their thinking, whatever their names say; grows as errors teach it. */
  boundModels: Set<string>;
}
