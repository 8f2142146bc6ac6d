import { pause } from '../../shared/base/lifecycle.ts';
import { backoffMs } from '../lane/verdict.ts';
import { type Failure, isOverBudget } from '../model/errors/failure.ts';
import type { Model, ModelRequest, ModelResult, Payer } from '../model/port.ts';

/** Who asks for a summary, and how long the user of the chat waits for it. */
export interface SummaryAsker {
  model: Model;
  /** Whose budget pays for the calls. */
  payer?: Payer;
  /** Asked when the first model is in transient trouble, or gone. */
  fallbackName: string | undefined;
  /** How long transient trouble is waited out, in all. */
  patienceMs: number;
  /** How long after a refusal the same call is made once more, before the refusal is believed. */
  doubtWaitMs: number;
  retryMs: number;
  /** When a summary must be there, by the monotonic clock, whatever the model does. */
  untilMs: number;
  /** Runs just before each call. Contract: throws when we may no longer make calls. */
  beforeCall(): Promise<void>;
}

/** How a call ended. */
export interface Asked {
  result: ModelResult;
  /** The longest text that arrived of an answer that did not; empty when there was none. */
  said: string;
  /** Whether its time was over. */
  isLate: boolean;
}

/** Another model may be there, and allowed. */
const ABOUT_MODEL: ReadonlySet<string> = new Set(['not_found', 'permission']);

/** Whether a summary was never asked for: that says nothing about the summariser, nor about the conversation. */
export function wasNotAsked({ reason }: Failure): boolean {
  return reason === 'paused' || isOverBudget(reason);
}

/**
 * Asks for a part of a summary, and waits out transient trouble, or uses the fallback model, as long as there is time.
 * Each of the parts that are left has its share of that: once it is over, a call ends that has written enough. Contract:
 * throws only what `beforeCall` throws.
 */
export async function askInTime(
  asker: SummaryAsker,
  request: ModelRequest,
  { partsLeft, isEnough }: { partsLeft: number; isEnough: (text: string) => boolean },
  signal: AbortSignal,
): Promise<Asked> {
  const leftMs = asker.untilMs - performance.now();
  const shareEndsAtMs = performance.now() + leftMs / partsLeft;
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = Number.isFinite(leftMs) ? setTimeout(end, Math.max(0, leftMs)) : undefined;
  let said = '';
  const hear = (text: string): void => {
    if (text.length > said.length) said = text;
    if (performance.now() >= shareEndsAtMs && isEnough(text)) end();
  };
  try {
    const result = await askPatiently(asker, request, hear, AbortSignal.any([signal, over.signal]));
    return { result, said, isLate: over.signal.aborted };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits out transient trouble for a while, or uses the fallback model. A refusal is believed when it comes again: a
 * conversation may be left because of it.
 */
async function askPatiently(
  asker: SummaryAsker,
  request: ModelRequest,
  hear: (text: string) => void,
  signal: AbortSignal,
): Promise<ModelResult> {
  let firstFailedAtMs: number | undefined;
  let isDoubted = false;
  for (let failures = 1; ; failures++) {
    const result = await askEither(asker, request, hear, signal);
    if (result.ok || signal.aborted) return result;
    const isRefused = result.failure.kind !== 'transient';
    if (isRefused && (isDoubted || wasNotAsked(result.failure))) return result;
    isDoubted ||= isRefused;
    firstFailedAtMs ??= performance.now();
    const waitMs = isRefused ? asker.doubtWaitMs : backoffMs(failures, asker.retryMs, result.failure.retryAfterMs);
    const patienceMs = isRefused ? Number.POSITIVE_INFINITY : asker.patienceMs;
    const triedUntilMs = Math.min(firstFailedAtMs + patienceMs, asker.untilMs);
    if (performance.now() + waitMs > triedUntilMs) return result;
    await pause(waitMs, signal);
    if (signal.aborted) return result;
  }
}

async function askEither(
  { model, payer, fallbackName, beforeCall }: SummaryAsker,
  asked: ModelRequest,
  hear: (text: string) => void,
  signal: AbortSignal,
): Promise<ModelResult> {
  const request = { ...asked, purpose: 'summary' as const, ...(payer && { payer }) };
  await beforeCall();
  const first = await model.send(request, signal, hear);
  const isHelpless = first.ok || (first.failure.kind !== 'transient' && !ABOUT_MODEL.has(first.failure.reason));
  if (isHelpless || signal.aborted) return first;
  if (fallbackName === undefined || fallbackName === request.model) return first;
  await beforeCall();
  const second = await model.send({ ...request, model: fallbackName }, signal, hear);
  return second.ok ? second : first;
}
