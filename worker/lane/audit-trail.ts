import { traceIdOf } from '../../shared/base/telemetry.ts';
import type { Change } from '../../shared/state/change.ts';
import type { FailureReason } from '../model/errors/failure.ts';
import type { FailedCall, Usage } from '../model/port.ts';
import type { Repair } from '../model/rules/repair.ts';
import type { Attempt } from './attempt.ts';

/** What the audit trail records besides the outcomes: the steps of a recovery. Content never gets in here. */
export type AuditEvent =
  | {
      event: 'context.exceeded';
      /** Whether our own count detected it before the call, or the provider after it. */
      phase: 'counted' | 'refused';
      kind: string;
      stage: string;
      observedTokens?: number;
      limitTokens?: number;
    }
  | { event: 'context.compacted'; tokensBefore: number; tokensAfter: number; calls: number; summaryChars: number }
  | { event: 'context.compaction-failed'; reason: string; calls: number }
  | {
      event: 'context.new-session';
      entries: number;
      seedChars: number;
      from: string;
      to: string;
      bytesRead: number;
      tookMs: number;
    }
  /** Unreadable lines of a session log. They keep their place and are not shown. */
  | { event: 'session.torn'; records: number }
  /** A request violated the API contract and was fixed before it was sent. */
  | { event: 'request.repaired'; repairs: readonly Repair[] }
  /** Parts of messages that were too large, or not accepted, are no longer shown; `bytes` is their former size. */
  | { event: 'context.scrubbed'; kind: string; parts: number; bytes: number }
  | { event: 'context.thinking-dropped'; reason: string }
  /** Each old tool result is shown as one line; no summary was needed. */
  | { event: 'context.force-pruned'; tokensBefore: number; tokensAfter: number }
  /**
   * A call that succeeded, and its cost; all calls of one compaction are one event. `retry`: the answer was of no use
   * (empty, or cut before its first word), and the call was repeated.
   */
  | ({ event: 'model.answered'; purpose: 'answer' | 'summary' | 'retry'; model: string } & Usage)
  /**
   * A call without an answer. `billed`: the provider had accepted it; the counters state its cost, partly estimated.
   */
  | ({
      event: 'model.failed';
      purpose: 'answer' | 'summary';
      model: string;
      reason: FailureReason;
      billed: boolean;
    } & Usage)
  /** A payload was cut before it was first sent; `chars` is its original length. */
  | { event: 'message.capped'; kind: 'tool_result' | 'document'; chars: number }
  | { event: 'context.output-lowered' | 'context.output-raised'; maxOutputTokens: number }
  | { event: 'context.gave-up'; reason: string }
  /** The words so far became the answer, since no other one came. */
  | { event: 'answer.cut'; reason: string; chars: number }
  /** The API refused a tool by name; the process continues without it. */
  | { event: 'tool.excluded'; tool: string };

const NOTHING_SPENT: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** The event of a call without an answer, with what the provider bills for it all the same. */
export function failedCallEvent(
  purpose: 'answer' | 'summary',
  model: string,
  { failure, spent }: FailedCall,
): AuditEvent {
  const billed = spent !== undefined;
  return { event: 'model.failed', purpose, model, reason: failure.reason, billed, ...(spent ?? NOTHING_SPENT) };
}

/** The command that appends to the audit trail, for a fenced write: stores an event in one step with its effect. */
export function auditCommand(attempt: Attempt, event: AuditEvent): Change {
  const { entry, chat, keys } = attempt;
  const record = JSON.stringify({ entry, chat, traceId: traceIdOf(attempt.traceparent), atMs: Date.now(), ...event });
  return ['XADD', keys.events, '*', 'event', event.event, 'record', record];
}
