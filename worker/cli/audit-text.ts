import type { LedgerReading } from '../../shared/state/lane/counts.ts';
import { percentOf, type Spent, spentInWords } from '../budget/limit.ts';
import type { Counts } from '../report/counts.ts';
import type { RollUp, Spending } from '../report/roll-up.ts';
import { money } from '../report/words.ts';

/** The proof over all shards, as of now: it is not per day. */
export interface Proof extends Omit<LedgerReading, 'alarmedAtMs'> {
  /** Shards whose own numbers do not add up: another shard's surplus must not hide what is missing in one. */
  failedShards: number[];
}

/** The period of an audit, and whether its proof holds, in lines. */
export function opening(period: { days: number; from: string; to: string }, proof: Proof): string[] {
  const { accepted, settled, pending, unaccounted } = proof;
  return [
    `Audit of ${period.days} days, ${period.from} to ${period.to}`,
    '',
    `Proof (since the counts began): accepted ${accepted} - settled ${settled} - pending ${pending} = ${unaccounted}`,
    `  ${verdictOf(proof)}`,
  ];
}

function verdictOf({ unaccounted, isCounted, failedShards }: Proof): string {
  if (failedShards.length > 0) {
    const what = unaccounted < 0 ? 'came in uncounted' : 'went without an outcome';
    const how = unaccounted === 0 ? 'shards make up for one another' : `${Math.abs(unaccounted)} ${what}`;
    return `${how} (shard ${failedShards.join(', ')}): see the runbook`;
  }
  if (!isCounted) return 'nothing was counted yet, so nothing is proven';
  return 'every message that was accepted has its outcome or waits for it';
}

/** What an audit added up, in lines. */
export function linesOf(rollUp: RollUp): string[] {
  const {
    outcomes,
    attempts,
    recoveries,
    latencyMs,
    contextSafety: safety,
    tokens,
    cost,
    failedCalls,
    unreadable,
    topChats,
  } = rollUp;
  const exceeded = Object.entries(safety.exceeded).map(([kind, phases]) => `  exceeded, ${kind}: ${inWords(phases)}`);
  const scrubbed = Object.entries(safety.scrubbed).map(
    ([kind, { messages, parts, bytes }]) => `  scrubbed, ${kind}: ${messages} messages, ${parts} parts, ${bytes} bytes`,
  );
  return [
    '',
    `Outcomes: ${outcomes.total} (${inWords(outcomes.byOutcome)})`,
    `  reasons: ${inWords(outcomes.byReason)}`,
    `  attempts: ${inWords(attempts)}; recoveries: ${inWords(recoveries)}`,
    deliveryLine(rollUp.delivery),
    ...(unreadable > 0 ? [`  records that cannot be read: ${unreadable}`] : []),
    `Latency of ${latencyMs.answered} answers, ms (Telegram states whole seconds): p50 ${latencyMs.p50}, p95 ${latencyMs.p95}, p99 ${latencyMs.p99}`,
    '',
    'Context safety',
    ...(exceeded.length > 0 ? exceeded : ['  exceeded: never']),
    `  old results masked ${safety.forcePruned}, compacted ${safety.compacted}, new sessions ${safety.newSessions}, gave up ${safety.gaveUp}`,
    `  compactions that failed: ${inWords(safety.compactionFailed)}`,
    ...scrubbed,
    `  thinking dropped ${safety.thinkingDropped}, output lowered ${safety.outputLowered}, torn records ${safety.tornRecords}`,
    `  capped: ${inWords(safety.capped)}`,
    `  requests mended: ${inWords(safety.repaired)}`,
    '',
    `Cost: ${money(cost.dollars)} (${inWords(cost.byPurpose, money)})`,
    `  by model: ${inWords(cost.byModel, money)}`,
    ...(cost.unpricedModels.length > 0 ? [`  no price is known of: ${cost.unpricedModels.join(', ')}`] : []),
    `  calls without an answer: ${inWords(failedCalls.byReason)}; billed all the same: ${failedCalls.billed}`,
    ...Object.entries(tokens).flatMap(([purpose, models]) =>
      Object.entries(models).map(([model, spent]) => `  ${purpose}, ${model}: ${spendingOf(spent)}`),
    ),
    ...topLines(topChats),
  ];
}

/** What is spent of each limit in its present day or month, in lines. */
export function budgetLines(budgets: readonly Spent[]): string[] {
  const line = (each: Spent) => `  ${each.limit.setting}: ${spentInWords(each)}, ${percentOf(each)} %`;
  return budgets.length === 0 ? [] : ['', 'Limits of all chats, today or this month (UTC)', ...budgets.map(line)];
}

/** What the ledger proves of what it calls delivered. */
function deliveryLine({ confirmed, unsure, unknown, unconfirmed, unconfirmedEntries }: RollUp['delivery']): string {
  const line = `  delivered: confirmed ${confirmed}, repeated without a confirmation ${unsure}, no proof kept ${unknown}`;
  if (unconfirmed === 0) return line;
  return `${line}; UNCONFIRMED ${unconfirmed} (${unconfirmedEntries.join(', ')}): see the runbook`;
}

function spendingOf(spent: Spending): string {
  const { calls, inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, thinkingTokens, searches, dollars } =
    spent;
  const share = (part: number): number => (inputTokens === 0 ? 0 : Math.round((part / inputTokens) * 100));
  const cached = `${share(cacheReadTokens)} % from cache, ${share(cacheWriteTokens)} % written to it`;
  const thought = thinkingTokens > 0 ? ` (${thinkingTokens} thought)` : '';
  const price = dollars === undefined ? 'no price' : money(dollars);
  const searched = searches > 0 ? `, ${searches} searches` : '';
  return `${calls} calls, input ${inputTokens} (${cached}), output ${outputTokens}${thought}${searched}, ${price}`;
}

function topLines(chats: RollUp['topChats']): string[] {
  const line = ({ chat, messages, calls, tokens, dollars }: RollUp['topChats'][number]) =>
    `  chat ${chat}: ${messages} messages, ${calls} calls, ${tokens} tokens, ${money(dollars)}`;
  return chats.length === 0 ? [] : ['', 'Chats that cost most', ...chats.map(line)];
}

function inWords(counts: Counts, format: (value: number) => string = String): string {
  const words = Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => `${name} ${format(value)}`);
  return words.length === 0 ? 'none' : words.join(', ');
}
