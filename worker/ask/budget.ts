import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { estimateRequest } from '../model/count.ts';
import type { Model, ModelResult } from '../model/port.ts';
import { totalTokens } from '../model/usage.ts';

/** Tokens that may be spent in a UTC day; `undefined` means no limit. */
export interface BudgetLimits {
  chatDailyTokens: number | undefined;
  totalDailyTokens: number | undefined;
}

/** Tokens reserved for one call. */
interface Reservation {
  /** Replaces the reservation with what the call really cost. */
  settle(tokens: number): Promise<void>;
}

/**
 * The daily budgets of one shard's chats, and of all.
 *
 * Contract: rejects when Redis cannot be reached. `reserve` is not idempotent: what a crash leaves reserved stays spent
 * until the day ends, so a budget is never exceeded by it.
 */
export interface Budget {
  reserve(chat: ChatKey, tokens: number): Promise<Reservation | 'over_chat_budget' | 'over_total_budget'>;
}

/** A day's key is not read after this. */
const KEEP_SECONDS = 48 * 3600;
/** A command whose reply was lost is repeated within seconds. */
const REPEAT_SECONDS = 300;

/** The budgets over a connection; does nothing without a limit. */
export function createBudget(
  redis: RedisClient,
  keys: Keys,
  limits: BudgetLimits,
  now: () => Date = () => new Date(),
): Budget | undefined {
  const { chatDailyTokens, totalDailyTokens } = limits;
  if (chatDailyTokens === undefined && totalDailyTokens === undefined) return undefined;
  const run = bindScript<number>(redis, join(import.meta.dirname, 'spend.lua'));
  const spend = async (key: string, tokens: number, limit: number | undefined): Promise<boolean> =>
    (await run([key, `${key}:${randomUUID()}`], [tokens, limit ?? -1, KEEP_SECONDS, REPEAT_SECONDS])) === 1;
  return {
    async reserve(chat, tokens) {
      const day = now().toISOString().slice(0, 10);
      const [ofChat, ofAll] = [keys.spent(day, chat), keys.spentByAll(day)];
      if (!(await spend(ofChat, tokens, chatDailyTokens))) return 'over_chat_budget';
      if (!(await spend(ofAll, tokens, totalDailyTokens))) {
        await spend(ofChat, -tokens, undefined);
        return 'over_total_budget';
      }
      return {
        async settle(spent) {
          await spend(ofChat, spent - tokens, undefined);
          await spend(ofAll, spent - tokens, undefined);
        },
      };
    },
  };
}

/**
 * The model, guarded by its chats' budgets. The most that a call may cost is reserved first and then replaced by its
 * real cost; a call that died after the server had taken it costs what the server bills. A call that would exceed the
 * budget is not made: it fails as terminal, with the budget's name.
 */
export function withBudget(model: Model, budget: Budget): Model {
  return {
    limits: (name) => model.limits(name),
    countTokens: (request, signal) => model.countTokens(request, signal),
    async send(request, signal, onText) {
      const { chat } = request;
      if (chat === undefined) return model.send(request, signal, onText);
      const reserved = await budget.reserve(chat, estimateRequest(request) + request.maxTokens);
      if (typeof reserved === 'string') return refused(reserved);
      const result = await model.send(request, signal, onText);
      await reserved.settle(billedTokens(result));
      return result;
    },
  };
}

function billedTokens(result: ModelResult): number {
  const usage = result.ok ? result.answer.usage : result.spent;
  return usage === undefined ? 0 : totalTokens(usage);
}

function refused(reason: 'over_chat_budget' | 'over_total_budget'): ModelResult {
  return { ok: false, repairs: [], failure: { kind: 'terminal', reason } };
}
