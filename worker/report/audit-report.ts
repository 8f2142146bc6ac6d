import { counted } from '../../shared/base/text.ts';
import { createLedger, type LedgerReading } from '../../shared/state/lane/ledger.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import type { Spent, totalsOf } from '../../shared/state/spending/limit.ts';
import type { Prices } from '../model/prices.ts';
import {
  chatName,
  type Fact,
  listSection,
  type Report,
  type ReportSource,
  type Section,
  shardsOf,
  type Verdict,
} from './report.ts';
import { type RollUp, readRollUp } from './roll-up.ts';
import { budgetFacts } from './status.ts';
import type { Counts } from './tallies.ts';
import { money, percent, thousands } from './words.ts';

/** The proof over all shards, as of now: it is not per day. */
export interface Proof extends Omit<LedgerReading, 'alarm'> {
  /** Shards whose own numbers do not add up: another shard's surplus must not hide what is missing in one. */
  failedShards: number[];
}

/** A period in numbers, with the proof as of now, and what is spent of the limits. */
export interface Audit extends RollUp {
  days: number;
  nowMs: number;
  proof: Proof;
  budgets: readonly Spent[];
}

const DAY_MS = 24 * 3600_000;

/** Adds up the last days, of 24 hours each. */
export async function readAudit(
  source: ReportSource,
  { days, prices, totals }: { days: number; prices: Prices; totals: ReturnType<typeof totalsOf> },
): Promise<Audit> {
  const nowMs = Date.now();
  let proof: Proof = { accepted: 0, settled: 0, pending: 0, unaccounted: 0, isCounted: true, failedShards: [] };
  for (const [shard, keys] of shardsOf(source).entries())
    proof = added(proof, shard, await createLedger(source.redis, keys).read());
  const rollUp = await readRollUp(source, nowMs - days * DAY_MS, prices);
  return { ...rollUp, days, nowMs, proof, budgets: await readSpent(source.redis, totals, nowMs) };
}

function added(before: Proof, shard: number, reading: LedgerReading): Proof {
  const { accepted, settled, pending, unaccounted, isCounted } = reading;
  return {
    accepted: before.accepted + accepted,
    settled: before.settled + settled,
    pending: before.pending + pending,
    unaccounted: before.unaccounted + unaccounted,
    isCounted: before.isCounted && isCounted,
    failedShards: unaccounted === 0 ? before.failedShards : [...before.failedShards, shard],
  };
}

/** Outcomes and cost of a period, and the proof that nothing was lost. Pure. */
export function auditReport(audit: Audit): Report {
  const { days, nowMs, proof } = audit;
  return {
    title: `Audit of ${counted(days, 'day')}`,
    nowMs,
    verdict: proofVerdict(proof),
    sections: [
      { facts: headFacts(audit) },
      { title: 'Outcomes', facts: outcomeFacts(audit) },
      { title: 'Context safety', facts: safetyFacts(audit.contextSafety) },
      ...costSections(audit),
    ],
  };
}

/** What a period has cost, and whom. Pure. */
export function costReport(audit: Audit): Report {
  const { days, nowMs } = audit;
  const facts = headFacts(audit).slice(0, 1);
  return { title: `Cost of ${counted(days, 'day')}`, nowMs, sections: [{ facts }, ...costSections(audit)] };
}

function costSections({ budgets, ...rollUp }: Audit): Section[] {
  const rows = rollUp.topChats.map(({ chat, messages, calls, tokens, dollars }) => [
    chatName(chat),
    messages,
    calls,
    thousands(tokens),
    money(dollars),
  ]);
  const table = { columns: ['Chat', 'Messages', 'Calls', 'Tokens', 'Cost'], rows };
  return [
    spending(rollUp),
    listSection('Chats that cost most', { table }),
    ...(budgets.length === 0
      ? []
      : [{ title: 'Limits of all chats, today or this month (UTC)', facts: budgetFacts(budgets) }]),
  ];
}

function proofVerdict(proof: Proof): Verdict {
  const { accepted, settled, pending, unaccounted, isCounted, failedShards } = proof;
  const reason = `Proof, since counting began: accepted ${accepted} - settled ${settled} - pending ${pending} = ${unaccounted}`;
  if (failedShards.length > 0) {
    const what = unaccounted < 0 ? 'came in uncounted' : 'went without an outcome';
    const how = unaccounted === 0 ? 'shards cancel each other out' : `${Math.abs(unaccounted)} ${what}`;
    return { tone: 'bad', reason, more: [`${how} (shard ${failedShards.join(', ')}): see the runbook`] };
  }
  const holds = 'Every message that was accepted has its outcome or is waiting for it.';
  return {
    tone: isCounted ? 'good' : 'plain',
    reason,
    more: [isCounted ? holds : 'Nothing has been counted yet, so nothing is proven.'],
  };
}

function headFacts({ outcomes, latencyMs, cost }: RollUp): Fact[] {
  const { answered = 0, failed = 0 } = outcomes.byOutcome;
  const { unpricedModels } = cost;
  const prices =
    unpricedModels.length === 0 ? 'at list prices, or your own' : `no price is known for ${unpricedModels.join(', ')}`;
  return [
    { name: 'Cost', value: money(cost.dollars), note: prices },
    { name: 'Messages', value: outcomes.total, note: `${answered} answered, ${failed} failed` },
    {
      name: 'Answered in',
      value: seconds(latencyMs.p50),
      note: `median; 95 % in ${seconds(latencyMs.p95)}, 99 % in ${seconds(latencyMs.p99)}`,
    },
  ];
}

function outcomeFacts({ outcomes, attempts, recoveries, delivery, failedCalls, unreadable }: RollUp): Fact[] {
  const { confirmed, unsure, unknown, unconfirmed, unconfirmedEntries } = delivery;
  const proven = `${confirmed} confirmed, ${unsure} repeated without a confirmation, ${unknown} with no proof kept`;
  const missing =
    unconfirmed === 0 ? '' : `; UNCONFIRMED ${unconfirmed} (${unconfirmedEntries.join(', ')}): see the runbook`;
  return [
    { name: 'By outcome', value: inCounts(outcomes.byOutcome) },
    { name: 'By reason', value: inCounts(outcomes.byReason) },
    { name: 'Attempts', value: inCounts(attempts) },
    { name: 'Recoveries', value: inCounts(recoveries) },
    { name: 'Delivered', value: `${proven}${missing}` },
    { name: 'Failed calls', value: `${inCounts(failedCalls.byReason)}; ${failedCalls.billed} billed all the same` },
    ...(unreadable > 0 ? [{ name: 'Unreadable', value: counted(unreadable, 'record') }] : []),
  ];
}

function safetyFacts(safety: RollUp['contextSafety']): Fact[] {
  const { forcePruned, compacted, newSessions, gaveUp, thinkingDropped, outputLowered, tornRecords } = safety;
  const exceeded = Object.entries(safety.exceeded).map(([kind, phases]) => ({
    name: `Exceeded, ${kind}`,
    value: inCounts(phases),
  }));
  const scrubbed = Object.entries(safety.scrubbed).map(([kind, { messages, parts, bytes }]) => ({
    name: `Scrubbed, ${kind}`,
    value: `${counted(messages, 'message')}, ${counted(parts, 'part')}, ${thousands(bytes)} bytes`,
  }));
  return [
    ...(exceeded.length > 0 ? exceeded : [{ name: 'Exceeded', value: 'never' }]),
    {
      name: 'Recovered by',
      value: `${forcePruned} masked results, ${compacted} compactions, ${newSessions} new sessions; gave up ${gaveUp}`,
    },
    { name: 'Failed compactions', value: inCounts(safety.compactionFailed) },
    ...scrubbed,
    {
      name: 'Also',
      value: `thinking dropped ${thinkingDropped}, output lowered ${outputLowered}, torn records ${tornRecords}`,
    },
    { name: 'Capped', value: inCounts(safety.capped) },
    { name: 'Requests not sent', value: inCounts(safety.invalid) },
  ];
}

function spending({ tokens, cost }: RollUp): Section {
  const rows = Object.entries(tokens).flatMap(([purpose, models]) =>
    Object.entries(models).map(([model, spent]) => [
      purpose,
      model,
      spent.calls,
      `${thousands(spent.inputTokens)} (${percent(spent.cacheReadTokens, spent.inputTokens)} from cache, ${percent(spent.cacheWriteTokens, spent.inputTokens)} written to it)`,
      `${thousands(spent.outputTokens)}${spent.thinkingTokens > 0 ? ` (${thousands(spent.thinkingTokens)} thinking)` : ''}`,
      spent.searches,
      spent.dollars === undefined ? 'no price' : money(spent.dollars),
    ]),
  );
  if (rows.length === 0) return { title: 'Cost', empty: 'No call was made.' };
  const intro = `By purpose: ${inCounts(cost.byPurpose, money)}. By model: ${inCounts(cost.byModel, money)}.`;
  return {
    title: 'Cost',
    intro,
    table: { columns: ['For', 'Model', 'Calls', 'Input', 'Output', 'Searches', 'Cost'], rows },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

function inCounts(counts: Counts, format: (value: number) => string = String): string {
  const words = Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => `${name} ${format(value)}`);
  return words.length === 0 ? 'none' : words.join(', ');
}
