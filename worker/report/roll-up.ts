import { jsonFields } from '../../shared/base/fields.ts';
import { type AuditEvent, eventsIn, type OutcomeRecord, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import type { CallRecord, Usage } from '../../shared/state/spending/usage-book.ts';
import { costOf, type Prices } from '../model/prices.ts';
import { type ReportSource, shardsOf } from './report.ts';

export type Counts = Record<string, number>;

/** Usage and cost of one model for one purpose. `dollars` is absent if the price is unknown. */
export interface Spending extends Required<Omit<Usage, 'passes'>> {
  calls: number;
  dollars?: number;
}

/** The figures of a period. The names of the fields are stable, because machines read them. */
export type RollUp = Awaited<ReturnType<typeof readRollUp>>;

const TOP_CHATS = 10;
const ENTRIES_MAX = 10;
const DELIVERED = new Set(['answered', 'command']);
const NO_USAGE = {
  ...{ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
  ...{ thinkingTokens: 0, searches: 0 },
};
const COUNTERS = Object.keys(NO_USAGE) as (keyof typeof NO_USAGE)[];

function noFigures() {
  return {
    outcomes: { total: 0, byOutcome: {} as Counts, byReason: {} as Counts },
    attempts: {} as Counts,
    recoveries: {} as Counts,
    /** Proof of delivery of messages with the outcome `answered` or `command`. Each message counts in one field. */
    delivery: {
      /** Telegram confirmed every part. */
      confirmed: 0,
      /** Telegram confirmed neither the first send of some part nor the repeated send. */
      unsure: 0,
      /** The record has no proof: an earlier version wrote it, or the message had no parts. */
      unknown: 0,
      /** A part was neither confirmed nor repeated. Must be 0. */
      unconfirmed: 0,
      unconfirmedEntries: [] as string[],
    },
    /** Recoveries from requests that did not fit or that the model refused. */
    contextSafety: {
      /** By kind of failure, then by phase: `counted` before the call, `refused` by the provider. */
      exceeded: {} as Record<string, Counts>,
      ...{ compacted: 0, compactionFailed: {} as Counts, forcePruned: 0, newSessions: 0 },
      scrubbed: {} as Record<string, { messages: number; parts: number; bytes: number }>,
      ...{ thinkingDropped: 0, outputLowered: 0, gaveUp: 0, capped: {} as Counts },
      /** Requests that were not sent, by the rule of the API that they would break. */
      invalid: {} as Counts,
      tornRecords: 0,
    },
    /** By purpose, then by model. The purpose `retry` stands for failed calls that were billed. */
    tokens: {} as Record<string, Record<string, Spending>>,
    /** Calls without an answer, by reason; `billed` counts those that cost something. */
    failedCalls: { byReason: {} as Counts, billed: 0 },
    /** Damaged records, which no other number includes. */
    unreadable: 0,
  };
}

type Figures = ReturnType<typeof noFigures>;

/** The sums so far. Their size grows only with the number of answers and chats. */
interface Sums {
  figures: Figures;
  latencies: number[];
  chats: Map<string, ChatTotals>;
  prices: Prices | undefined;
}

/**
 * Adds up the ledger and the audit trail since a time. Ignores unknown events; counts unreadable and incomplete records.
 * Contract: only reads, and rejects when Redis cannot be reached.
 */
export async function readRollUp({ redis, shards }: ReportSource, fromMs: number, prices?: Prices) {
  const sums: Sums = { figures: noFigures(), latencies: [], chats: new Map(), prices };
  const { figures, latencies, chats } = sums;
  const addAll = async <T>(texts: AsyncIterable<string>, add: (sums: Sums, record: T) => void) => {
    for await (const text of texts) {
      const record = jsonFields(text);
      if (record === undefined) count(figures, 'unreadable');
      else add(sums, record as T);
    }
  };
  for (const keys of shardsOf({ shards })) {
    await addAll(outcomesIn(redis, keys).textsSince(fromMs), addOutcome);
    await addAll(eventsIn(redis, keys).textsSince(fromMs), addEvent);
  }
  return {
    ...figures,
    /** Time from Telegram's date of a message (in whole seconds) to the message's outcome, for answered messages. */
    latencyMs: { answered: latencies.length, ...percentiles(latencies) },
    cost: costIn(figures.tokens),
    topChats: mostExpensive([...chats.values()]),
  };
}

function addOutcome({ figures, latencies, chats }: Sums, record: OutcomeRecord): void {
  const { chat, outcome, reason, attempts, recoveries, sentAtMs, settledAtMs } = record;
  addToProof(figures.delivery, record);
  count(figures.outcomes, 'total');
  if (chat !== undefined) count(totalsOf(chats, chat), 'messages');
  count(figures.outcomes.byOutcome, outcome);
  if (reason !== undefined) count(figures.outcomes.byReason, reason);
  count(figures.attempts, String(attempts));
  count(figures.recoveries, String(recoveries));
  if (outcome === 'answered' && sentAtMs !== undefined) latencies.push(Math.max(0, settledAtMs - sentAtMs));
}

type EventName = AuditEvent['event'];
type Safety = Figures['contextSafety'];
type Adder<Name extends EventName> = (safety: Safety, event: Extract<AuditEvent, { event: Name }>) => void;

/** Adders for the events of the audit trail other than model calls. */
const ADDERS: { readonly [Name in EventName]?: Adder<Name> } = {
  'context.exceeded': ({ exceeded }, { kind, phase }) => {
    exceeded[kind] ??= {};
    count(exceeded[kind], phase);
  },
  'context.compacted': (safety) => count(safety, 'compacted'),
  'context.compaction-failed': (safety, { reason }) => count(safety.compactionFailed, reason),
  'context.force-pruned': (safety) => count(safety, 'forcePruned'),
  'context.new-session': (safety) => count(safety, 'newSessions'),
  'context.scrubbed': ({ scrubbed }, { kind, parts, bytes }) => {
    scrubbed[kind] ??= { messages: 0, parts: 0, bytes: 0 };
    count(scrubbed[kind], 'messages');
    count(scrubbed[kind], 'parts', parts);
    count(scrubbed[kind], 'bytes', bytes);
  },
  'context.thinking-dropped': (safety) => count(safety, 'thinkingDropped'),
  'context.output-lowered': (safety) => count(safety, 'outputLowered'),
  'context.gave-up': (safety) => count(safety, 'gaveUp'),
  'message.capped': (safety, { kind }) => count(safety.capped, kind),
  'request.invalid': (safety, { rule }) => count(safety.invalid, rule),
  'session.torn': (safety, { records }) => count(safety, 'tornRecords', records),
};

function addEvent(sums: Sums, event: AuditEvent & { chat?: string }): void {
  if (event.event === 'model.answered' || event.event === 'model.failed') addCall(sums, event);
  else if (Object.hasOwn(ADDERS, event.event))
    (ADDERS[event.event] as Adder<EventName>)(sums.figures.contextSafety, event);
}

function addCall({ figures, chats, prices }: Sums, call: CallRecord & { chat?: string }): void {
  const { event, billed, reason = 'unknown', purpose, model, chat, inputTokens, outputTokens, cacheReadTokens } = call;
  if (![inputTokens, outputTokens, cacheReadTokens].every(Number.isFinite)) {
    count(figures, 'unreadable');
    return;
  }
  const isFailed = event === 'model.failed';
  if (isFailed) count(figures.failedCalls.byReason, reason);
  if (isFailed && !billed) return;
  if (isFailed) count(figures.failedCalls, 'billed');
  // Records of earlier versions have no `dollars`.
  const dollars = call.dollars ?? costOf(model, call, prices);
  const name = isFailed ? 'retry' : purpose;
  figures.tokens[name] ??= {};
  const models = figures.tokens[name];
  models[model] = addUsage(models[model] ?? { ...NO_USAGE, calls: 0 }, call, dollars);
  if (chat === undefined) return;
  const totals = totalsOf(chats, chat);
  count(totals, 'calls');
  count(totals, 'tokens', inputTokens + outputTokens);
  count(totals, 'dollars', dollars ?? 0);
}

const noTotals = (chat: string) => ({ chat, messages: 0, calls: 0, tokens: 0, dollars: 0 });
type ChatTotals = ReturnType<typeof noTotals>;

/** The chats with the highest cost; without prices, those with the most tokens. */
function mostExpensive(chats: ChatTotals[]): ChatTotals[] {
  return chats
    .sort((one, other) => other.dollars - one.dollars || other.tokens - one.tokens || other.messages - one.messages)
    .slice(0, TOP_CHATS)
    .map((totals) => ({ ...totals, dollars: round(totals.dollars) }));
}

function totalsOf(chats: Sums['chats'], chat: string): ChatTotals {
  const totals = chats.get(chat) ?? noTotals(chat);
  chats.set(chat, totals);
  return totals;
}

function count<Name extends string>(counts: { [Each in Name]?: number }, name: Name, more = 1): void {
  counts[name] = (counts[name] ?? 0) + more;
}

/** Adds a record of the ledger to the proof of delivery. Ignores outcomes other than `answered` and `command`. */
function addToProof(proof: Figures['delivery'], { entry, outcome, delivery }: OutcomeRecord): void {
  if (!DELIVERED.has(outcome)) return;
  const { parts = 0, confirmed = 0, unsure = 0 } = delivery ?? {};
  if (delivery === undefined) proof.unknown += 1;
  else if (!(parts > 0 && confirmed >= 0 && unsure >= 0 && confirmed + unsure === parts)) {
    proof.unconfirmed += 1;
    if (proof.unconfirmedEntries.length < ENTRIES_MAX) proof.unconfirmedEntries.push(entry);
  } else if (unsure > 0) proof.unsure += 1;
  else proof.confirmed += 1;
}

function addUsage(before: Spending, usage: Usage, dollars: number | undefined): Spending {
  const after = { ...before, calls: before.calls + 1 };
  for (const name of COUNTERS) count(after, name, usage[name] ?? 0);
  return dollars === undefined ? after : { ...after, dollars: round((before.dollars ?? 0) + dollars) };
}

/** Adds up the cost by purpose and by model, without models that have no price. */
function costIn(tokens: Figures['tokens']) {
  const byPurpose: Record<string, number> = {};
  const byModel: Record<string, number> = {};
  const modelsWithoutPrice = new Set<string>();
  for (const [purpose, models] of Object.entries(tokens))
    for (const [model, { dollars }] of Object.entries(models))
      if (dollars === undefined) modelsWithoutPrice.add(model);
      else {
        byPurpose[purpose] = round((byPurpose[purpose] ?? 0) + dollars);
        byModel[model] = round((byModel[model] ?? 0) + dollars);
      }
  const dollars = round(Object.values(byPurpose).reduce((sum, each) => sum + each, 0));
  return { dollars, byPurpose, byModel, unpricedModels: [...modelsWithoutPrice].sort() };
}

/** Rounds to a millionth of a cent, because sums of fractions have meaningless trailing digits. */
function round(dollars: number): number {
  return Math.round(dollars * 1e8) / 1e8;
}

function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
