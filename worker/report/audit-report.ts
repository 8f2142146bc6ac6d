import { counted, thousands } from '../../shared/base/text.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import { loadPrices } from '../model/prices.ts';
import { imbalanceOf, type Proof, readProof } from './proof.ts';
import {
  chatName,
  compact,
  type Fact,
  fact,
  type ReadReport,
  type ReportContext,
  type ReportRequest,
  type Section,
  tableSection,
  UnusableSetting,
  type Verdict,
} from './report.ts';
import { type Counts, type RollUp, readRollUp, type Spending } from './roll-up.ts';
import { budgetFacts } from './status.ts';
import { money, percent } from './words.ts';

/** The figures of a period, and the present use of the budgets. */
type Audit = Awaited<ReturnType<typeof readAudit>>;

const DAY_MS = 24 * 3600_000;
const AUDIT_DAYS = 7;
const COST_DAYS = 1;

/** The report `audit`: outcomes and cost of a period, and the present proof that no message was lost. */
export const showAudit: ReadReport = async (at, request) => {
  const proof = await readProof(at);
  const audit = await readAudit(at, request, AUDIT_DAYS);
  const { title, nowMs, period, rollUp, budgets } = audit;
  const sections: Section[] = [
    { facts: headFacts(rollUp) },
    { title: 'Outcomes', facts: outcomeFacts(rollUp) },
    { title: 'Context safety', facts: safetyFacts(rollUp.contextSafety) },
    ...costSections(audit),
  ];
  return {
    report: { title: `Audit of ${title}`, nowMs, verdict: proofVerdict(proof), sections },
    json: { ...period, proof, ...rollUp, budgets },
    code: proof.failedShards.length === 0 && rollUp.delivery.unconfirmed === 0 ? 0 : 1,
  };
};

export const showCost: ReadReport = async (at, request) => {
  const audit = await readAudit(at, request, COST_DAYS);
  const { title, nowMs, period, rollUp, budgets } = audit;
  const { tokens, cost, topChats } = rollUp;
  const sections = [{ facts: headFacts(rollUp).slice(0, 1) }, ...costSections(audit)];
  return {
    report: { title: `Cost of ${title}`, nowMs, sections },
    json: { ...period, tokens, cost, topChats, budgets },
  };
};

/** Adds up the figures of the last days, each of 24 hours, and reads the use of the budgets. */
async function readAudit({ redis, shards, settings }: ReportContext, { options }: ReportRequest, daysDefault: number) {
  const days = Number(options.days ?? daysDefault);
  const prices = await loadPrices(settings.MODEL_PRICES_FILE).catch((error: Error) => {
    throw new UnusableSetting(error.message);
  });
  const nowMs = Date.now();
  const fromMs = nowMs - days * DAY_MS;
  return {
    title: counted(days, 'day'),
    nowMs,
    period: { days, from: new Date(fromMs).toISOString(), to: new Date(nowMs).toISOString() },
    rollUp: await readRollUp({ redis, shards }, fromMs, prices),
    budgets: await readSpent(redis, totalsOf(settings), nowMs),
  };
}

function costSections({ budgets, rollUp }: Audit): Section[] {
  const rows = rollUp.topChats.map(({ chat, messages, calls, tokens, dollars }) => [
    chatName(chat),
    messages,
    calls,
    thousands(tokens),
    money(dollars),
  ]);
  return compact<Section>(
    costTable(rollUp),
    tableSection('Most expensive chats', ['Chat', 'Messages', 'Calls', 'Tokens', 'Cost'], rows),
    budgets.length > 0 && { title: 'Budgets for all chats, today or this month (UTC)', facts: budgetFacts(budgets) },
  );
}

function proofVerdict(proof: Proof): Verdict {
  const { accepted, settled, pending, unaccounted, isCounted } = proof;
  const reason = `Proof, since counting began: accepted ${accepted} - settled ${settled} - pending ${pending} = ${unaccounted}`;
  const imbalance = imbalanceOf(proof);
  if (imbalance !== undefined) return { tone: 'bad', reason, more: [`${imbalance}: see the runbook`] };
  if (!isCounted) return { tone: 'plain', reason, more: ['Nothing has been counted yet, so nothing is proven.'] };
  return { tone: 'good', reason, more: ['Every message that was accepted has its outcome or is waiting for it.'] };
}

function headFacts({ outcomes, latencyMs, cost }: RollUp): Fact[] {
  const { answered = 0, failed = 0 } = outcomes.byOutcome;
  const { unpricedModels } = cost;
  const prices =
    unpricedModels.length === 0 ? 'at list prices, or your own' : `no price is known for ${unpricedModels.join(', ')}`;
  const slow = `median; 95 % in ${seconds(latencyMs.p95)}, 99 % in ${seconds(latencyMs.p99)}`;
  return [
    fact('Cost', money(cost.dollars), prices),
    fact('Messages', outcomes.total, `${answered} answered, ${failed} failed`),
    fact('Answered in', seconds(latencyMs.p50), slow),
  ];
}

function outcomeFacts({ outcomes, attempts, recoveries, delivery, failedCalls, unreadable }: RollUp): Fact[] {
  const { confirmed, unsure, unknown, unconfirmed, unconfirmedEntries } = delivery;
  const proofInWords = `${confirmed} confirmed, ${unsure} repeated without a confirmation, ${unknown} with no proof kept`;
  const unconfirmedInWords =
    unconfirmed === 0 ? '' : `; UNCONFIRMED ${unconfirmed} (${unconfirmedEntries.join(', ')}): see the runbook`;
  return compact(
    fact('By outcome', inCounts(outcomes.byOutcome)),
    fact('By reason', inCounts(outcomes.byReason)),
    fact('Attempts', inCounts(attempts)),
    fact('Recoveries', inCounts(recoveries)),
    fact('Delivered', `${proofInWords}${unconfirmedInWords}`),
    fact('Failed calls', `${inCounts(failedCalls.byReason)}; ${failedCalls.billed} billed all the same`),
    unreadable > 0 && fact('Unreadable', counted(unreadable, 'record')),
  );
}

function safetyFacts(safety: RollUp['contextSafety']): Fact[] {
  const { forcePruned, compacted, newSessions, gaveUp, thinkingDropped, outputLowered, tornRecords } = safety;
  const exceededFacts = Object.entries(safety.exceeded).map(([kind, phases]) =>
    fact(`Exceeded, ${kind}`, inCounts(phases)),
  );
  const scrubbedFacts = Object.entries(safety.scrubbed).map(([kind, { messages, parts, bytes }]) =>
    fact(`Scrubbed, ${kind}`, `${counted(messages, 'message')}, ${counted(parts, 'part')}, ${thousands(bytes)} bytes`),
  );
  const recoverySteps = `masked results ${forcePruned}, compactions ${compacted}, new sessions ${newSessions}; gave up ${gaveUp}`;
  return [
    ...(exceededFacts.length > 0 ? exceededFacts : [fact('Exceeded', 'never')]),
    fact('Recovered by', recoverySteps),
    fact('Failed compactions', inCounts(safety.compactionFailed)),
    ...scrubbedFacts,
    fact('Also', `thinking dropped ${thinkingDropped}, output lowered ${outputLowered}, torn records ${tornRecords}`),
    fact('Capped', inCounts(safety.capped)),
    fact('Requests not sent', inCounts(safety.invalid)),
  ];
}

function costTable({ tokens, cost }: Pick<RollUp, 'tokens' | 'cost'>): Section {
  const rows = Object.entries(tokens).flatMap(([purpose, models]) =>
    Object.entries(models).map(([model, spending]) => [
      purpose,
      model,
      spending.calls,
      inputWords(spending),
      `${thousands(spending.outputTokens)}${spending.thinkingTokens > 0 ? ` (${thousands(spending.thinkingTokens)} thinking)` : ''}`,
      spending.searches,
      spending.dollars === undefined ? 'no price' : money(spending.dollars),
    ]),
  );
  if (rows.length === 0) return { title: 'Cost', empty: 'No call was made.' };
  const intro = `By purpose: ${inCounts(cost.byPurpose, money)}. By model: ${inCounts(cost.byModel, money)}.`;
  const columns = ['For', 'Model', 'Calls', 'Input', 'Output', 'Searches', 'Cost'];
  return { title: 'Cost', intro, table: { columns, rows } };
}

function inputWords({ inputTokens, cacheReadTokens, cacheWriteTokens }: Spending): string {
  const [readShare, writeShare] = [percent(cacheReadTokens, inputTokens), percent(cacheWriteTokens, inputTokens)];
  return `${thousands(inputTokens)} (${readShare} from cache, ${writeShare} written to it)`;
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
