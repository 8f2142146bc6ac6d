import { eventsIn, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import type { AuditEvent } from '../lane/events.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import type { Usage } from '../model/port.ts';
import { costOf, type Prices } from '../model/prices.ts';
import { type ReportSource, shardsOf } from './report.ts';
import {
  addToProof,
  addToSafety,
  type ContextSafety,
  type Counts,
  count,
  type DeliveryProof,
  emptySafety,
} from './tallies.ts';

/** The messages and cost of one chat in a period. `dollars` leaves out calls of models without a known price. */
export interface ChatTotals {
  chat: string;
  messages: number;
  calls: number;
  tokens: number;
  dollars: number;
}

/** The cost of the calls of one model for one purpose. `dollars` is absent when the price is unknown. */
export interface Spending extends Required<Omit<Usage, 'passes'>> {
  calls: number;
  dollars?: number;
}

/** A period in numbers. The names are stable: machines read them. */
export interface RollUp {
  outcomes: { total: number; byOutcome: Counts; byReason: Counts };
  attempts: Counts;
  recoveries: Counts;
  /** Answered messages only: from the time that Telegram states, in whole seconds, to the outcome. */
  latencyMs: { answered: number; p50: number; p95: number; p99: number };
  /** The proof for messages that were answered, or whose command was carried out. */
  delivery: DeliveryProof;
  contextSafety: ContextSafety;
  /** By purpose, then by model. `retry`: what was billed without an answer that was used. */
  tokens: Record<string, Record<string, Spending>>;
  /** At list prices, or the operator's own; excludes models without a price. */
  cost: {
    dollars: number;
    byPurpose: Record<string, number>;
    byModel: Record<string, number>;
    unpricedModels: string[];
  };
  /** The chats that cost most. */
  topChats: ChatTotals[];
  /** Calls without an answer, by reason; `billed` counts those that cost something even so. */
  failedCalls: { byReason: Counts; billed: number };
  /** Damaged records; none of the numbers above includes them. */
  unreadable: number;
}

const TOP_CHATS = 10;
const TOKENS = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  thinkingTokens: 0,
  searches: 0,
};
const NOTHING_SPENT: Spending = { calls: 0, ...TOKENS };

/**
 * An empty roll-up, to which records are added one by one; memory grows only with the number of answers and of chats. Pure
 * except for its own sums; ignores unknown events.
 */
export function createRollUp(prices?: Prices) {
  const sums = {
    outcomes: { total: 0, byOutcome: {} as Counts, byReason: {} as Counts },
    attempts: {} as Counts,
    recoveries: {} as Counts,
    delivery: { confirmed: 0, unsure: 0, unknown: 0, unconfirmed: 0, unconfirmedEntries: [] } as DeliveryProof,
    contextSafety: emptySafety(),
    tokens: {} as RollUp['tokens'],
    failedCalls: { byReason: {} as Counts, billed: 0 },
    unreadable: 0,
  };
  const { outcomes, failedCalls } = sums;
  const latencies: number[] = [];
  const chats = new Map<string, ChatTotals>();
  const totalsOf = (chat: string): ChatTotals => {
    const totals = chats.get(chat) ?? { chat, messages: 0, calls: 0, tokens: 0, dollars: 0 };
    chats.set(chat, totals);
    return totals;
  };
  return {
    addOutcome(record: OutcomeRecord): void {
      const { chat, outcome, reason, attempts: tried, recoveries: recovered, sentAtMs, settledAtMs } = record;
      addToProof(sums.delivery, record);
      outcomes.total += 1;
      if (chat !== undefined) totalsOf(chat).messages += 1;
      count(outcomes.byOutcome, outcome);
      if (reason !== undefined) count(outcomes.byReason, reason);
      count(sums.attempts, String(tried));
      count(sums.recoveries, String(recovered));
      if (outcome === 'answered' && sentAtMs !== undefined) latencies.push(Math.max(0, settledAtMs - sentAtMs));
    },
    addEvent(event: AuditEvent & { chat?: string }): void {
      const spent = (purpose: string, usage: Spent): void => {
        spend(sums.tokens, purpose, usage, prices);
        if (event.chat !== undefined) addCall(totalsOf(event.chat), usage, prices);
      };
      if (event.event === 'model.answered') spent(event.purpose, event);
      else if (event.event === 'model.failed') {
        if (event.billed) spent('retry', event);
        failedCalls.billed += event.billed ? 1 : 0;
        count(failedCalls.byReason, event.reason ?? 'unknown');
      } else addToSafety(sums.contextSafety, event);
    },
    /** Counts a record that cannot be read. */
    addUnreadable(): void {
      sums.unreadable += 1;
    },
    result: (): RollUp => ({
      ...sums,
      latencyMs: { answered: latencies.length, ...percentiles(latencies) },
      cost: costIn(sums.tokens),
      topChats: dearest([...chats.values()]),
    }),
  };
}

/** What a call came to. A line of an earlier version has no `dollars`. */
type Spent = Usage & { model: string; dollars?: number };

function addCall(totals: ChatTotals, usage: Spent, prices?: Prices): void {
  totals.calls += 1;
  totals.tokens += usage.inputTokens + usage.outputTokens;
  totals.dollars += usage.dollars ?? costOf(usage.model, usage, prices) ?? 0;
}

/** The chats that cost most; where nothing has a price, those with most tokens. */
function dearest(chats: ChatTotals[]): ChatTotals[] {
  return chats
    .sort((one, other) => other.dollars - one.dollars || other.tokens - one.tokens || other.messages - one.messages)
    .slice(0, TOP_CHATS)
    .map((totals) => ({ ...totals, dollars: rounded(totals.dollars) }));
}

function spend(tokens: RollUp['tokens'], purpose: string, event: Spent, prices?: Prices): void {
  const { inputTokens, outputTokens, cacheReadTokens } = event;
  if (![inputTokens, outputTokens, cacheReadTokens].every(Number.isFinite)) throw new TypeError('a usage has counters');
  const models = tokens[purpose] ?? {};
  tokens[purpose] = models;
  const before = models[event.model] ?? NOTHING_SPENT;
  const dollars = event.dollars ?? costOf(event.model, event, prices);
  const sum = (name: keyof typeof TOKENS): number => before[name] + (event[name] ?? 0);
  models[event.model] = {
    calls: before.calls + 1,
    ...(Object.fromEntries(
      Object.keys(TOKENS).map((name) => [name, sum(name as keyof typeof TOKENS)]),
    ) as typeof TOKENS),
    ...(dollars !== undefined && { dollars: rounded((before.dollars ?? 0) + dollars) }),
  };
}

function costIn(tokens: RollUp['tokens']): RollUp['cost'] {
  const byPurpose: Record<string, number> = {};
  const byModel: Record<string, number> = {};
  const unpriced = new Set<string>();
  for (const [purpose, models] of Object.entries(tokens))
    for (const [model, { dollars }] of Object.entries(models))
      if (dollars === undefined) unpriced.add(model);
      else {
        byPurpose[purpose] = rounded((byPurpose[purpose] ?? 0) + dollars);
        byModel[model] = rounded((byModel[model] ?? 0) + dollars);
      }
  const dollars = rounded(Object.values(byPurpose).reduce((sum, each) => sum + each, 0));
  return { dollars, byPurpose, byModel, unpricedModels: [...unpriced].sort() };
}

/** To a millionth of a cent: sums of fractions have meaningless trailing digits. */
function rounded(dollars: number): number {
  return Math.round(dollars * 1e8) / 1e8;
}

function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Adds up the ledger and the audit trail since a time. Contract: as at `ReportSource`. */
export async function readRollUp(source: ReportSource, fromMs: number, prices?: Prices): Promise<RollUp> {
  const builder = createRollUp(prices);
  for (const keys of shardsOf(source)) {
    for await (const text of outcomesIn(source.redis, keys).textsSince(fromMs)) add(text, builder.addOutcome, builder);
    for await (const text of eventsIn(source.redis, keys).textsSince(fromMs)) add(text, builder.addEvent, builder);
  }
  return builder.result();
}

/** Counts a record that cannot be read, or lacks a part, as unreadable: it must not hide all the others. */
function add<T extends object>(
  text: string,
  take: (record: T) => void,
  builder: ReturnType<typeof createRollUp>,
): void {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null) throw new TypeError('a record is an object');
    take(record as T);
  } catch {
    builder.addUnreadable();
  }
}
