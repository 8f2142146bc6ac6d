import { pause } from '../../shared/base/lifecycle.ts';
import type { Bounds, Budget, Reservation } from '../../shared/state/spending/budget.ts';
import { type Bill, type LimitUsage, type Payer, PER_DOLLAR } from '../../shared/state/spending/limit.ts';
import type { BookCall, CallRecord, Usage } from '../../shared/state/spending/usage-book.ts';
import { estimateRequest } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model, ModelRequest, ModelResult } from '../model/port.ts';
import { costOf, type Prices } from '../model/prices.ts';

/** How often somebody looks again for whom nothing is left before other calls have ended. */
const HELD_MS = 250;
/** The reasons of calls that were not made. */
const NOT_MADE: ReadonlySet<string> = new Set(['paused', 'invalid_request']);

/** The books of all calls: what is held of the limits while a call runs, and the account in which it is booked. */
export interface Books {
  /** Absent without any limit. */
  budget: Budget | undefined;
  book: BookCall;
}

/**
 * The model within the limits of whoever it is asked for, and of all, with an account of each call. The most that a call may
 * cost is held first and then replaced by its real cost; a call that died after it was sent costs what the server bills. One
 * for which nothing is left is not made: it fails as terminal, with the budget's name. One for which others hold what is left
 * waits for them.
 */
export function withAccount(model: Model, { budget, book }: Books, prices: Prices): Model {
  return {
    ...model,
    async send(request, signal, onText) {
      const reserved = budget && (await reserveInTime(budget, request.payer, boundsOf(request, prices), signal));
      if (reserved && 'kind' in reserved) return { ok: false, failure: reserved };
      const result = await model.send(request, signal, onText);
      const call = recordOf(request, result, prices);
      const isMade = result.ok || !NOT_MADE.has(result.failure.reason);
      await Promise.all([reserved?.settle(billOf(call)), isMade && book(request.payer, call)]);
      return result;
    },
  };
}

export const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** Holds what a call may cost, or says why there is nothing left for it. */
export async function reserveInTime(
  budget: Budget,
  payer: Payer | undefined,
  bounds: Bounds,
  signal: AbortSignal,
): Promise<Reservation | Failure> {
  for (;;) {
    const reserved = await budget.reserve(payer, bounds);
    if (reserved !== 'held by others') return 'settle' in reserved ? reserved : overBudget(reserved);
    await pause(HELD_MS, signal);
    if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
  }
}

function overBudget({ limit: { whose, period }, againMs }: LimitUsage): Failure {
  return { kind: 'terminal', reason: `over_${whose}_budget`, budget: { whose, period, againMs } };
}

/** At least the input is billed, all of it read from the cache; at most it is all written there, and the output full. */
function boundsOf(request: ModelRequest, prices: Prices): Bounds {
  const [inputTokens, outputTokens] = [estimateRequest(request), request.maxTokens];
  const bill = (usage: Omit<Usage, 'inputTokens'>, tokens: number): Bill => ({
    usd: (costOf(request.model, { inputTokens, ...usage }, prices) ?? 0) * PER_DOLLAR,
    tokens,
  });
  const written = { cacheReadTokens: 0, cacheWriteTokens: inputTokens, cacheWrite1hTokens: inputTokens };
  return {
    // Tokens have one price each: the limit is not exceeded at all.
    least: bill({ outputTokens: 0, cacheReadTokens: inputTokens }, inputTokens + outputTokens),
    most: bill({ outputTokens, ...written }, inputTokens + outputTokens),
    certain: bill({ outputTokens: 0, cacheReadTokens: 0 }, inputTokens),
  };
}

/** The record of a call. If the model that answered has no known price, the price of the requested model counts. */
function recordOf({ model, purpose = 'answer' }: ModelRequest, result: ModelResult, prices: Prices): CallRecord {
  if (!result.ok) {
    const { failure, billedUsage = NO_TOKENS } = result;
    const dollars = costOf(model, billedUsage, prices);
    const about = { purpose, model, reason: failure.reason, billed: result.billedUsage !== undefined };
    return { event: 'model.failed', ...about, ...billedUsage, ...(dollars !== undefined && { dollars }) };
  }
  const { model: answerer, usage } = result.answer;
  const dollars = costOf(answerer, usage, prices) ?? costOf(model, usage, prices);
  return { event: 'model.answered', purpose, model: answerer, ...usage, ...(dollars !== undefined && { dollars }) };
}

/** What a call cost, as the limits count it. */
export function billOf({ dollars = 0, inputTokens, outputTokens }: Usage & { dollars?: number | undefined }): Bill {
  return { usd: dollars * PER_DOLLAR, tokens: inputTokens + outputTokens };
}
