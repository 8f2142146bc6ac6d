import { jsonFields } from '../../shared/base/fields.ts';
import { eventsIn, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import type { AuditEvent } from '../lane/events.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import type { Usage } from '../model/port.ts';
import { costOf, type Prices } from '../model/prices.ts';
import { type ReportSource, shardsOf } from './report.ts';

/** How often each of several things was seen. */
export type Counts = Record<string, number>;

/** The cost of the calls of one model for one purpose. `dollars` is absent when the price is unknown. */
export interface Spending extends Required<Omit<Usage, 'passes'>> {
  calls: number;
  dollars?: number;
}

/** A period in numbers. The names are stable: machines read them. */
export type RollUp = Awaited<ReturnType<typeof readRollUp>>;

const TOP_CHATS = 10;
const ENTRIES_MAX = 10;
const DELIVERED = new Set(['answered', 'command']);
const NOTHING_SPENT: Spending = {
  ...{ calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
  ...{ thinkingTokens: 0, searches: 0 },
};
/** Events that are counted in a figure by themselves. */
const PLAIN = {
  'context.compacted': 'compacted',
  'context.force-pruned': 'forcePruned',
  'context.new-session': 'newSessions',
  'context.thinking-dropped': 'thinkingDropped',
  'context.output-lowered': 'outputLowered',
  'context.gave-up': 'gaveUp',
} as const;

/** The sums over a period in which nothing happened. */
function emptySums() {
  return {
    outcomes: { total: 0, byOutcome: {} as Counts, byReason: {} as Counts },
    attempts: {} as Counts,
    recoveries: {} as Counts,
    /** The proof for messages that were answered, or whose command was carried out; each is counted once. */
    delivery: {
      /** Telegram confirmed every part. */
      confirmed: 0,
      /** A part was repeated, marked, while Telegram confirmed other messages; of the repeat it said nothing. */
      unsure: 0,
      /** Written by a version that kept no proof, or nothing was sent. */
      unknown: 0,
      /** Called delivered, although a part was neither confirmed nor repeated: there must be none. */
      unconfirmed: 0,
      /** The entries of the first of those. */
      unconfirmedEntries: [] as string[],
    },
    /** How requests were handled that did not fit or were not taken. */
    contextSafety: {
      /** By kind of failure, then by phase: `counted` before the call, `refused` by the provider. */
      exceeded: {} as Record<string, Counts>,
      ...{ compacted: 0, compactionFailed: {} as Counts, forcePruned: 0, newSessions: 0 },
      scrubbed: {} as Record<string, { messages: number; parts: number; bytes: number }>,
      ...{ thinkingDropped: 0, outputLowered: 0, gaveUp: 0, capped: {} as Counts },
      /** Requests that were not sent, by the rule of the API that they break. */
      invalid: {} as Counts,
      tornRecords: 0,
    },
    /** By purpose, then by model. `retry`: what was billed without an answer that was used. */
    tokens: {} as Record<string, Record<string, Spending>>,
    /** Calls without an answer, by reason; `billed` counts those that cost something even so. */
    failedCalls: { byReason: {} as Counts, billed: 0 },
    /** Damaged records; none of the numbers above includes them. */
    unreadable: 0,
  };
}

type Sums = ReturnType<typeof emptySums>;

/** Adds up the ledger and the audit trail since a time. Contract: as at `ReportSource`. */
export async function readRollUp(source: ReportSource, fromMs: number, prices?: Prices) {
  const builder = createRollUp(prices);
  for (const keys of shardsOf(source)) {
    for await (const text of outcomesIn(source.redis, keys).textsSince(fromMs)) builder.addOutcome(jsonFields(text));
    for await (const text of eventsIn(source.redis, keys).textsSince(fromMs)) builder.addEvent(jsonFields(text));
  }
  return builder.result();
}

/**
 * An empty roll-up, to which records are added one by one; memory grows only with the number of answers and of chats. Pure
 * except for its own sums; ignores unknown events, and counts what cannot be read, or lacks a part.
 */
export function createRollUp(prices?: Prices) {
  const sums = emptySums();
  const latencies: number[] = [];
  const chats = new Map<string, ChatTotals>();
  const totalsOf = (chat: string) => {
    const totals = chats.get(chat) ?? { chat, messages: 0, calls: 0, tokens: 0, dollars: 0 };
    chats.set(chat, totals);
    return totals;
  };
  const spend = (purpose: string, usage: Spent, chat: string | undefined): void => {
    const dollars = usage.dollars ?? costOf(usage.model, usage, prices);
    sums.tokens[purpose] ??= {};
    const models = sums.tokens[purpose];
    models[usage.model] = addSpent(models[usage.model] ?? NOTHING_SPENT, usage, dollars);
    if (chat === undefined) return;
    const totals = totalsOf(chat);
    totals.calls += 1;
    totals.tokens += usage.inputTokens + usage.outputTokens;
    totals.dollars += dollars ?? 0;
  };
  return {
    addOutcome(read: object | undefined): void {
      if (read === undefined) {
        sums.unreadable += 1;
        return;
      }
      const record = read as OutcomeRecord;
      const { chat, outcome, reason, attempts, recoveries, sentAtMs, settledAtMs } = record;
      addToProof(sums.delivery, record);
      sums.outcomes.total += 1;
      if (chat !== undefined) totalsOf(chat).messages += 1;
      count(sums.outcomes.byOutcome, outcome);
      if (reason !== undefined) count(sums.outcomes.byReason, reason);
      count(sums.attempts, String(attempts));
      count(sums.recoveries, String(recoveries));
      if (outcome === 'answered' && sentAtMs !== undefined) latencies.push(Math.max(0, settledAtMs - sentAtMs));
    },
    addEvent(read: object | undefined): void {
      const event = (read ?? { event: 'unreadable' }) as AuditEvent & { chat?: string };
      const isCall = event.event === 'model.answered' || event.event === 'model.failed';
      if (read === undefined || (isCall && !hasCounters(event))) sums.unreadable += 1;
      else if (event.event === 'model.answered') spend(event.purpose, event, event.chat);
      else if (event.event === 'model.failed') {
        if (event.billed) spend('retry', event, event.chat);
        sums.failedCalls.billed += event.billed ? 1 : 0;
        count(sums.failedCalls.byReason, event.reason ?? 'unknown');
      } else addToSafety(sums.contextSafety, event);
    },
    result: () => ({
      ...sums,
      /** Answered messages only: from the time that Telegram states, in whole seconds, to the outcome. */
      latencyMs: { answered: latencies.length, ...percentiles(latencies) },
      cost: costIn(sums.tokens),
      topChats: dearest([...chats.values()]),
    }),
  };
}

interface ChatTotals {
  chat: string;
  messages: number;
  calls: number;
  tokens: number;
  dollars: number;
}

/** The chats that cost most; where nothing has a price, those with most tokens. */
function dearest(chats: ChatTotals[]): ChatTotals[] {
  return chats
    .sort((one, other) => other.dollars - one.dollars || other.tokens - one.tokens || other.messages - one.messages)
    .slice(0, TOP_CHATS)
    .map((totals) => ({ ...totals, dollars: rounded(totals.dollars) }));
}

/** What a call came to. A line of an earlier version has no `dollars`. */
type Spent = Usage & { model: string; dollars?: number };

function hasCounters({ inputTokens, outputTokens, cacheReadTokens }: Usage): boolean {
  return [inputTokens, outputTokens, cacheReadTokens].every(Number.isFinite);
}

function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Adds a line of the ledger. Lines that call nothing delivered are no part of the proof. */
function addToProof(proof: Sums['delivery'], { entry, outcome, delivery }: OutcomeRecord): void {
  if (!DELIVERED.has(outcome)) return;
  const { parts = 0, confirmed = 0, unsure = 0 } = delivery ?? {};
  if (delivery === undefined) proof.unknown += 1;
  else if (!(parts > 0 && confirmed >= 0 && unsure >= 0 && confirmed + unsure === parts)) {
    proof.unconfirmed += 1;
    if (proof.unconfirmedEntries.length < ENTRIES_MAX) proof.unconfirmedEntries.push(entry);
  } else if (unsure > 0) proof.unsure += 1;
  else proof.confirmed += 1;
}

/** Adds an event of the audit trail; ignores those that are about something else. */
function addToSafety(safety: Sums['contextSafety'], event: AuditEvent): void {
  if (event.event === 'context.exceeded') {
    safety.exceeded[event.kind] ??= {};
    count(safety.exceeded[event.kind] as Counts, event.phase);
  } else if (event.event === 'context.scrubbed') {
    const { messages, parts, bytes } = safety.scrubbed[event.kind] ?? { messages: 0, parts: 0, bytes: 0 };
    safety.scrubbed[event.kind] = { messages: messages + 1, parts: parts + event.parts, bytes: bytes + event.bytes };
  } else if (event.event === 'context.compaction-failed') count(safety.compactionFailed, event.reason);
  else if (event.event === 'message.capped') count(safety.capped, event.kind);
  else if (event.event === 'request.invalid') count(safety.invalid, event.rule);
  else if (event.event === 'session.torn') safety.tornRecords += event.records;
  else if (Object.hasOwn(PLAIN, event.event)) safety[PLAIN[event.event as keyof typeof PLAIN]] += 1;
}

function addSpent(before: Spending, usage: Usage, dollars: number | undefined): Spending {
  const names = Object.keys(NOTHING_SPENT) as (keyof typeof NOTHING_SPENT & keyof Usage)[];
  const sums = names.map((name) => [name, before[name] + Number(usage[name] ?? 0)]);
  return {
    ...before,
    ...Object.fromEntries(sums),
    calls: before.calls + 1,
    ...(dollars !== undefined && { dollars: rounded((before.dollars ?? 0) + dollars) }),
  };
}

/** At list prices, or the operator's own; excludes models without a price. */
function costIn(tokens: Sums['tokens']) {
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
