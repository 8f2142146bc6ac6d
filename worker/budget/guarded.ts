import { pause } from '../../shared/base/lifecycle.ts';
import type { Bounds, Budget, Reservation } from '../../shared/state/spending/budget.ts';
import { type Bill, PER_DOLLAR, type Spent } from '../../shared/state/spending/limit.ts';
import type { Recording, Transcriber } from '../media/transcriber.ts';
import { estimateRequest } from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { Model, ModelRequest, ModelResult, Payer, Usage } from '../model/port.ts';
import { costOf, type Prices } from '../model/prices.ts';
import { totalTokens } from '../model/usage.ts';

/** How often somebody looks again for whom nothing is left before other calls have ended. */
const HELD_MS = 250;
const ABORTED: Failure = { kind: 'transient', reason: 'aborted' };
/** Of a file of which nobody says how long it is: speech as phones record it. */
const BYTES_A_SECOND = 4_000;

/**
 * The model within the limits of whoever it is asked for, and of all. The most that a call may cost is held first and
 * then replaced by its real cost; a call that died after the server had taken it costs what the server bills. One for
 * which nothing is left is not made: it fails as terminal, with the budget's name. One for which others hold what is
 * left waits for them.
 */
export function withBudget(model: Model, budget: Budget, prices: Prices): Model {
  return {
    limits: (name) => model.limits(name),
    countTokens: (request, signal) => model.countTokens(request, signal),
    async send(request, signal, onText) {
      const reserved = await reserveInTime(budget, request.payer, boundsOf(request, prices), signal);
      if ('kind' in reserved) return { ok: false, repairs: [], failure: reserved };
      const result = await model.send(request, signal, onText);
      await reserved.settle(billOf(request, result, prices));
      return result;
    },
  };
}

/**
 * A transcriber within the same limits, if there are any, which says what it cost. A recording costs by its length, as its
 * endpoint states it, or its sender.
 */
export function withBudgetToHear(transcriber: Transcriber, budget: Budget | undefined, minute: number): Transcriber {
  const billed = (seconds: number): Bill => ({ usd: (seconds / 60) * minute * PER_DOLLAR, tokens: 0 });
  return {
    async transcribe(recording, signal) {
      const bill = billed(secondsOf(recording));
      const bounds = { least: bill, most: bill, certain: bill };
      const reserved = budget && (await reserveInTime(budget, recording.payer, bounds, signal));
      if (reserved && 'kind' in reserved)
        return reserved.reason === 'aborted' ? { kind: 'aborted' } : { kind: 'over budget', failure: reserved };
      const said = await transcriber.transcribe(recording, signal);
      const isBilled = said.kind === 'heard' || said.kind === 'aborted';
      const seconds = said.kind === 'heard' ? said.seconds : undefined;
      const cost = seconds === undefined ? billed(isBilled ? secondsOf(recording) : 0) : billed(seconds);
      await reserved?.settle(cost);
      return said.kind === 'heard' ? { ...said, dollars: cost.usd / PER_DOLLAR } : said;
    },
  };
}

function secondsOf({ seconds, bytes }: Recording): number {
  return seconds ?? bytes.length / BYTES_A_SECOND;
}

async function reserveInTime(
  budget: Budget,
  payer: Payer | undefined,
  bounds: Bounds,
  signal: AbortSignal,
): Promise<Reservation | Failure> {
  for (;;) {
    const reserved = await budget.reserve(payer, bounds);
    if (reserved !== 'held by others') return 'settle' in reserved ? reserved : overBudget(reserved);
    await pause(HELD_MS, signal);
    if (signal.aborted) return ABORTED;
  }
}

function overBudget({ limit: { whose, period }, againMs }: Spent): Failure {
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

/** A model may be answered for under another name, of which no price is known. */
function billOf({ model }: ModelRequest, result: ModelResult, prices: Prices): Bill {
  const usage = result.ok ? result.answer.usage : result.spent;
  if (usage === undefined) return { usd: 0, tokens: 0 };
  const answered = result.ok ? costOf(result.answer.model, usage, prices) : undefined;
  const usd = (answered ?? costOf(model, usage, prices) ?? 0) * PER_DOLLAR;
  return { usd, tokens: totalTokens(usage) };
}
