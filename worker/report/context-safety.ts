import type { AuditEvent } from '../lane/events.ts';
import { type Counts, count } from './counts.ts';

/** What was done, in a period, to requests that did not fit or were not taken. */
export interface ContextSafety {
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
}

/** Of a period in which nothing happened. */
export function emptySafety(): ContextSafety {
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

/** Adds an event of the audit trail; ignores those that are about something else. */
export function addToSafety(safety: ContextSafety, event: AuditEvent): void {
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
      for (const { rule, what } of event.repairs) count(safety.repaired, `${rule}: ${what}`);
      break;
    case 'session.torn':
      safety.tornRecords += event.records;
      break;
    default:
  }
}
