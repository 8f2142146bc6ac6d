import { pause } from '../../shared/base/lifecycle.ts';
import type { Bounds, Budget, Reservation } from '../../shared/state/spending/budget.ts';
import { type Bill, type LimitUsage, type Payer, PER_DOLLAR } from '../../shared/state/spending/limit.ts';
import type { BookCall, CallRecord, Usage } from '../../shared/state/spending/usage-book.ts';
import { estimateRequest } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model, ModelRequest, ModelResult } from '../model/port.ts';
import { costOf, type Prices } from '../model/prices.ts';

/** The wait before a call asks again for a reservation, while other calls hold the rest of a limit. */
const RETRY_MS = 250;
/** The reasons of failures after which the call is not booked, because the model client sent no request. */
const UNSENT: ReadonlySet<string> = new Set(['paused', 'invalid_request']);

/** The limits on spending, and the function that books each call. */
export interface Books {
  /** Undefined if no limit is set. */
  budget: Budget | undefined;
  book: BookCall;
}

/**
 * Wraps a model so that each call counts toward the spending limits of its payer and of the installation, and is booked if it
 * was sent. Before the call, reserves the call's highest possible cost; afterwards, puts the real cost in place of that sum.
 * A failed call costs as much as the server bills. If a limit is used up, the call fails as `terminal`, with the name of the
 * budget. If other calls have reserved the rest of a limit, the call waits for them.
 */
export function withAccount(model: Model, { budget, book }: Books, prices: Prices): Model {
  return {
    ...model,
    async send(request, signal, onText) {
      const reservation = budget && (await reserveInTime(budget, request.payer, boundsOf(request, prices), signal));
      if (reservation && 'kind' in reservation) return { ok: false, failure: reservation };
      const result = await model.send(request, signal, onText);
      const call = recordOf(request, result, prices);
      const isMade = result.ok || !UNSENT.has(result.failure.reason);
      await Promise.all([reservation?.settle(billOf(call)), isMade && book(request.payer, call)]);
      return result;
    },
  };
}

export const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** Reserves the highest cost of a call, as soon as running calls leave room. Fails if a limit is used up, or on abort. */
export async function reserveInTime(
  budget: Budget,
  payer: Payer | undefined,
  bounds: Bounds,
  signal: AbortSignal,
): Promise<Reservation | Failure> {
  for (;;) {
    const result = await budget.reserve(payer, bounds);
    if (result !== 'held by others') return 'settle' in result ? result : overBudget(result);
    await pause(RETRY_MS, signal);
    if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
  }
}

function overBudget({ limit: { whose, period }, againMs }: LimitUsage): Failure {
  return { kind: 'terminal', reason: `over_${whose}_budget`, budget: { whose, period, againMs } };
}

/**
 * The bounds of a call's cost. `least`: all input is read from the prompt cache. `most`: all input is written to the cache, and
 * the output has its full length. `certain`: the input alone, without the cache.
 */
function boundsOf(request: ModelRequest, prices: Prices): Bounds {
  const [inputTokens, outputTokens] = [estimateRequest(request), request.maxTokens];
  const bill = (usage: Omit<Usage, 'inputTokens'>, tokens: number): Bill => ({
    usd: (costOf(request.model, { inputTokens, ...usage }, prices) ?? 0) * PER_DOLLAR,
    tokens,
  });
  const cacheWrites = { cacheReadTokens: 0, cacheWriteTokens: inputTokens, cacheWrite1hTokens: inputTokens };
  return {
    // `least` and `most` have the same number of tokens, so no call starts that may exceed a limit in tokens.
    least: bill({ outputTokens: 0, cacheReadTokens: inputTokens }, inputTokens + outputTokens),
    most: bill({ outputTokens, ...cacheWrites }, inputTokens + outputTokens),
    certain: bill({ outputTokens: 0, cacheReadTokens: 0 }, inputTokens),
  };
}

/** The record of a call. If the price of the model that answered is unknown, the price of the requested model counts. */
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

/** The bill of a call, as the limits count it. A call without a known price costs 0 dollars. */
export function billOf({ dollars = 0, inputTokens, outputTokens }: Usage & { dollars?: number | undefined }): Bill {
  return { usd: dollars * PER_DOLLAR, tokens: inputTokens + outputTokens };
}
