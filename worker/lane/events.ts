import type { Attributes } from '@opentelemetry/api';
import type { Failpoint } from '../../shared/base/failpoint.ts';
import type { Observability } from '../../shared/base/observability.ts';
import { METRIC, type MetricName, SPAN } from '../../shared/base/telemetry.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import { auditLine } from '../../shared/state/lane/record-streams.ts';
import type { CallRecord } from '../../shared/state/spending/usage-book.ts';
import { fixedPartsAlert, modelGoneAlert } from '../alerts/causes/endpoint.ts';
import { freshSessionAlert, historyRefusedAlert, tornAlert, windowAlert } from '../alerts/causes/session.ts';
import { refusedToolAlert } from '../alerts/causes/tools.ts';
import { failedAlert, gaveUpAlert } from '../alerts/causes/unanswered.ts';
import type { Attempt, Expected, Written } from './attempt.ts';

/** A step of a message that the audit trail records, besides the outcomes. Content never gets in here. */
export type AuditEvent =
  | {
      event: 'context.exceeded';
      /** Whether our own count detected it before the call, or the provider after it. */
      phase: 'counted' | 'refused';
      kind: string;
      stage: string;
      reason: string;
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
      /** The session that is left, and who is told, is decided when the model answers in the new one. */
      isTrial: boolean;
      hasSummary: boolean;
    }
  /** Unreadable lines of a session log. They keep their place and are not shown. */
  | { event: 'session.torn'; records: number }
  /** A request broke a rule of the API and was not sent. */
  | { event: 'request.invalid'; rule: string }
  /** Parts of messages that were too large, or not accepted, are no longer shown; `bytes` is their former size. */
  | { event: 'context.scrubbed'; action: 'scrub' | 'shorten'; kind: string; parts: number; bytes: number }
  | { event: 'context.thinking-dropped'; reason: string }
  /** Each old tool result is shown as one line; no summary was needed. */
  | { event: 'context.force-pruned'; tokensBefore: number; tokensAfter: number }
  /** A call; its account writes the line. Before version 0.4 the answers of a compaction were one line without `dollars`. */
  | CallRecord
  /** A payload was cut before it was first sent; `chars` is its original length. */
  | { event: 'message.capped'; kind: 'tool_result' | 'document'; chars: number }
  | { event: 'context.output-lowered' | 'context.output-raised'; maxOutputTokens: number }
  | { event: 'context.gave-up'; reason: string }
  /** A question was decided, by this person or by nobody; `tools` waited for an approval. */
  | { event: 'question.decided'; of: EntryId; how: string; by: number | undefined; tools: readonly string[] }
  /** The API refused a tool by name; the process continues without it. */
  | { event: 'tool.excluded'; tool: string };

/** An event that the operator is told of, and the audit trail does not record. */
export type ToldEvent =
  | { event: 'message.failed'; reason: string; detail: string }
  | { event: 'message.gave-up'; reason: string; fault: 'size' | 'message' | 'output' }
  | { event: 'history.refused'; from: string; to: string; entries: number; why: string }
  | { event: 'window.contradicted'; model: string; statedTokens: number; takenTokens: number }
  | { event: 'fixed-parts.refused'; why: string; status: number | undefined }
  | { event: 'model.gone'; gone: string; now: string };

/** Something that happened to a message; `REPORTS` says all that is reported of it. */
export type TurnEvent = AuditEvent | ToldEvent;

type EventName = TurnEvent['event'];
type Of<Name extends EventName> = Extract<TurnEvent, { event: Name }>;

/** The reports of one kind of event. */
interface Report<Event> {
  /** Whether the audit trail has a line of it, written in one step with its effect. */
  audit?: true;
  /** Queued in the same step. */
  alert?: (attempt: Attempt, event: Event) => Alert | undefined;
  /** Counted once it is written. */
  count?: (event: Event) => readonly [metric: MetricName, attributes: Attributes];
  /** A span without a duration, once it is written. */
  mark?: (event: Event) => readonly [span: string, attributes: Attributes];
  /** Where a test may kill the process, once it is written. */
  failpoint?: Failpoint;
}

const recovered = (action: string, result = 'ok') => [METRIC.recoveries, { action, result }] as const;

/** The one table from events to what is reported of them. */
const REPORTS: { readonly [Name in EventName]: Report<Of<Name>> } = {
  'context.exceeded': {
    audit: true,
    count: ({ kind, stage }) => [METRIC.overflows, { kind, stage }],
    mark: ({ kind, stage, reason, observedTokens, limitTokens }) => [
      SPAN.overflowDetected,
      {
        'spillway.overflow.kind': kind,
        'spillway.recovery.stage': stage,
        'error.type': reason,
        ...(observedTokens !== undefined && { 'spillway.overflow.observed_tokens': observedTokens }),
        ...(limitTokens !== undefined && { 'spillway.overflow.limit_tokens': limitTokens }),
      },
    ],
  },
  'context.compacted': { audit: true, count: () => recovered('compact'), failpoint: 'compaction stored' },
  'context.force-pruned': { audit: true, count: () => recovered('mask'), failpoint: 'compaction stored' },
  'context.compaction-failed': { audit: true, count: ({ reason }) => recovered('compact', reason) },
  'context.new-session': {
    audit: true,
    alert: (attempt, { isTrial, entries, to }) => (isTrial ? undefined : freshSessionAlert(attempt, entries, to)),
    count: () => recovered('new_session'),
    mark: ({ entries, hasSummary, seedChars }) => [
      SPAN.overflowNewSession,
      { has_summary: hasSummary, summary_length: seedChars, 'spillway.session.entries': entries },
    ],
    failpoint: 'fresh session stored',
  },
  'context.scrubbed': { audit: true, count: ({ action }) => recovered(action) },
  'context.thinking-dropped': { audit: true, count: () => recovered('drop_thinking') },
  'context.output-lowered': { audit: true, count: () => recovered('lower_output') },
  'context.output-raised': { audit: true, count: () => recovered('raise_output') },
  'context.gave-up': { audit: true, count: ({ reason }) => recovered('give_up', reason) },
  'session.torn': { audit: true, alert: (attempt, { records }) => tornAlert(attempt, records) },
  'request.invalid': { audit: true },
  'model.answered': {},
  'model.failed': {},
  'message.capped': { audit: true },
  'question.decided': { audit: true },
  'tool.excluded': {
    audit: true,
    alert: (attempt, { tool }) => refusedToolAlert(attempt, tool),
    count: () => recovered('exclude_tool'),
  },
  'message.failed': { alert: (attempt, { reason, detail }) => failedAlert(attempt, reason, detail) },
  'message.gave-up': { alert: (attempt, { reason, fault }) => gaveUpAlert(attempt, reason, fault) },
  'history.refused': { alert: (attempt, about) => historyRefusedAlert({ ...attempt, ...about }) },
  'window.contradicted': {
    alert: (attempt, { model, statedTokens, takenTokens }) => windowAlert(attempt, model, statedTokens, takenTokens),
  },
  'fixed-parts.refused': { alert: (attempt, { why, status }) => fixedPartsAlert(attempt, why, status) },
  'model.gone': { alert: (attempt, { gone, now }) => modelGoneAlert(attempt, gone, now) },
};

/** The changes that record events in one step with their effect: lines of the audit trail, and alerts. */
export function recorded(attempt: Attempt, events: readonly TurnEvent[]): Change[] {
  return events.flatMap((event) => {
    const { audit, alert } = reportOf(event);
    const told = alert?.(attempt, event);
    return [...(audit ? [auditLine(attempt, event)] : []), ...(told ? [queuedAlert(attempt.keys, told)] : [])];
  });
}

/** Counts and marks events, once they are recorded. */
export function observe(
  { telemetry, reach }: Pick<Observability, 'telemetry' | 'reach'>,
  events: readonly TurnEvent[],
): void {
  for (const event of events) {
    const { count, mark, failpoint } = reportOf(event);
    if (mark) telemetry.mark(...mark(event));
    if (count) telemetry.count(...count(event));
    if (failpoint) reach(failpoint);
  }
}

/** A step of a message: what changes, and what happened thereby. */
export interface Step {
  /** Written once; an empty one may repeat. */
  step: string;
  changes?: readonly Change[];
  expected?: readonly Expected[];
  events: readonly TurnEvent[];
}

/**
 * Writes a step and what is recorded of its events at once, and observes them then.
 *
 * Contract: as `Attempt.write`. Of a step that was written before, the events are observed again.
 */
export async function commit(
  observability: Pick<Observability, 'telemetry' | 'reach'>,
  attempt: Attempt,
  { step, changes = [], expected, events }: Step,
): Promise<Exclude<Written, 'fenced'>> {
  const written = await attempt.write(step, [...changes, ...recorded(attempt, events)], expected);
  if (written !== 'unmet') observe(observability, events);
  return written;
}

function reportOf(event: TurnEvent): Report<TurnEvent> {
  // The table has for each name a report of that event.
  return REPORTS[event.event] as Report<TurnEvent>;
}
