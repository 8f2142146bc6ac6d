import type { AuditEvent } from '../audit.ts';
import type { OutcomeRecord } from '../lane.ts';

/** How often each of several things was seen. */
export type Counts = Record<string, number>;

/** What calls of one model for one purpose cost. */
export interface Spending {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
}

/** What happened in a time, as numbers. The names are stable: machines read them. */
export interface RollUp {
  outcomes: { total: number; byOutcome: Counts; byReason: Counts };
  attempts: Counts;
  recoveries: Counts;
  /** From the time that Telegram states, in whole seconds, to the outcome; of answered messages. */
  latencyMs: { answered: number; p50: number; p95: number; p99: number };
  contextSafety: {
    /** By kind of failure, then by phase: `counted` before the call, `refused` by the provider. */
    exceeded: Record<string, Counts>;
    compacted: number;
    compactionFailed: Counts;
    forcePruned: number;
    newSessions: number;
    scrubbed: Record<string, { messages: number; parts: number; bytes: number }>;
    thinkingDropped: number;
    outputLowered: number;
    gaveUp: number;
    capped: Counts;
    repaired: Counts;
    tornRecords: number;
  };
  /** By purpose, then by model. */
  tokens: Record<string, Record<string, Spending>>;
  /** Records that are damaged; they are in none of the numbers above. */
  unreadable: number;
}

/** Adds records up, one by one; memory grows with the number of answers alone, by a number each. */
export interface RollUpBuilder {
  addOutcome(record: OutcomeRecord): void;
  addEvent(event: AuditEvent): void;
  /** Counts a record that nobody can read. */
  addUnreadable(): void;
  result(): RollUp;
}

/** An empty roll-up. Pure but for what it adds up; an event that it does not know changes nothing. */
export function createRollUp(): RollUpBuilder {
  const outcomes = { total: 0, byOutcome: {} as Counts, byReason: {} as Counts };
  const attempts: Counts = {};
  const recoveries: Counts = {};
  const latencies: number[] = [];
  const safety = emptySafety();
  const tokens: RollUp['tokens'] = {};
  let unreadable = 0;
  return {
    addOutcome({ outcome, reason, attempts: tried, recoveries: recovered, sentAtMs, settledAtMs }) {
      outcomes.total += 1;
      count(outcomes.byOutcome, outcome);
      if (reason !== undefined) count(outcomes.byReason, reason);
      count(attempts, String(tried));
      count(recoveries, String(recovered));
      if (outcome === 'answered' && sentAtMs !== undefined) latencies.push(Math.max(0, settledAtMs - sentAtMs));
    },
    addEvent(event) {
      if (event.event === 'model.answered') spend(tokens, event);
      else addToSafety(safety, event);
    },
    addUnreadable() {
      unreadable += 1;
    },
    result: () => ({
      outcomes,
      attempts,
      recoveries,
      latencyMs: { answered: latencies.length, ...percentiles(latencies) },
      contextSafety: safety,
      tokens,
      unreadable,
    }),
  };
}

function emptySafety(): RollUp['contextSafety'] {
  return {
    exceeded: {},
    compacted: 0,
    compactionFailed: {},
    forcePruned: 0,
    newSessions: 0,
    scrubbed: {},
    thinkingDropped: 0,
    outputLowered: 0,
    gaveUp: 0,
    capped: {},
    repaired: {},
    tornRecords: 0,
  };
}

function addToSafety(safety: RollUp['contextSafety'], event: AuditEvent): void {
  switch (event.event) {
    case 'context.exceeded': {
      const phases = safety.exceeded[event.kind] ?? {};
      safety.exceeded[event.kind] = phases;
      count(phases, event.phase);
      break;
    }
    case 'context.compacted':
      safety.compacted += 1;
      break;
    case 'context.compaction-failed':
      count(safety.compactionFailed, event.reason);
      break;
    case 'context.force-pruned':
      safety.forcePruned += 1;
      break;
    case 'context.new-session':
      safety.newSessions += 1;
      break;
    case 'context.scrubbed': {
      const before = safety.scrubbed[event.kind] ?? { messages: 0, parts: 0, bytes: 0 };
      safety.scrubbed[event.kind] = {
        messages: before.messages + 1,
        parts: before.parts + event.parts,
        bytes: before.bytes + event.bytes,
      };
      break;
    }
    case 'context.thinking-dropped':
      safety.thinkingDropped += 1;
      break;
    case 'context.output-lowered':
      safety.outputLowered += 1;
      break;
    case 'context.gave-up':
      safety.gaveUp += 1;
      break;
    case 'message.capped':
      count(safety.capped, event.kind);
      break;
    case 'request.repaired':
      for (const { rule, what } of event.repairs) count(safety.repaired, `rule ${rule}: ${what}`);
      break;
    case 'session.torn':
      safety.tornRecords += event.records;
      break;
    default:
  }
}

function spend(tokens: RollUp['tokens'], event: Extract<AuditEvent, { event: 'model.answered' }>): void {
  const models = tokens[event.purpose] ?? {};
  tokens[event.purpose] = models;
  const before = models[event.model] ?? { calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };
  models[event.model] = {
    calls: before.calls + 1,
    inputTokens: before.inputTokens + event.inputTokens,
    outputTokens: before.outputTokens + event.outputTokens,
    cacheReadTokens: before.cacheReadTokens + event.cacheReadTokens,
  };
}

function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
