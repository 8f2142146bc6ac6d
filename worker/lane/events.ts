import type { Attributes } from '@opentelemetry/api';
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { METRIC, type MetricName, type Observability, SPAN } from '../../shared/base/telemetry.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { Change, Expected, Written } from '../../shared/state/change.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import { type AuditEvent, auditLine } from '../../shared/state/lane/record-streams.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { fixedPartsAlert, modelGoneAlert } from '../alerts/causes/endpoint.ts';
import { freshSessionAlert, historyRefusedAlert, tornAlert, windowAlert } from '../alerts/causes/session.ts';
import { refusedToolAlert } from '../alerts/causes/tools.ts';
import { failedAlert, gaveUpAlert } from '../alerts/causes/unanswered.ts';

/** An event that alerts the operator, without a line in the audit trail. */
type AlertOnlyEvent =
  | { event: 'message.failed'; reason: string; detail: string }
  | { event: 'message.gave-up'; reason: string; fault: 'size' | 'message' | 'output' }
  | { event: 'history.refused'; from: string; to: string; entries: number; why: string }
  | { event: 'window.contradicted'; model: string; statedTokens: number; takenTokens: number }
  | { event: 'fixed-parts.refused'; why: string; status: number | undefined }
  | { event: 'model.gone'; gone: string; now: string };

/** An event in the handling of a message. `REPORTS` lists where each event is reported. */
export type TurnEvent = AuditEvent | AlertOnlyEvent;

type EventName = TurnEvent['event'];
type Of<Name extends EventName> = Extract<TurnEvent, { event: Name }>;

interface Report<Event> {
  /** Whether to add a line to the audit trail, in the same write as the event's effect. */
  audit?: true;
  /** The alert to queue in the same write as the event's effect; `undefined` for none. */
  alert?: (turn: Turn, event: Event) => Alert | undefined;
  /** The metric to count after the write. */
  count?: (event: Event) => readonly [metric: MetricName, attributes: Attributes];
  /** The span, without a duration, to export after the write. */
  mark?: (event: Event) => readonly [span: string, attributes: Attributes];
  /** The failpoint to reach after the write; tests may kill the process there. */
  failpoint?: Failpoint;
}

const recovery = (action: string, result = 'ok') => [METRIC.recoveries, { action, result }] as const;

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
  'context.compacted': { audit: true, count: () => recovery('compact'), failpoint: 'compaction stored' },
  'context.force-pruned': { audit: true, count: () => recovery('mask'), failpoint: 'compaction stored' },
  'context.compaction-failed': { audit: true, count: ({ reason }) => recovery('compact', reason) },
  'context.new-session': {
    audit: true,
    alert: (turn, { isTrial, entries, to }) => (isTrial ? undefined : freshSessionAlert(turn, entries, to)),
    count: () => recovery('new_session'),
    mark: ({ entries, hasSummary, seedChars }) => [
      SPAN.overflowNewSession,
      { has_summary: hasSummary, summary_length: seedChars, 'spillway.session.entries': entries },
    ],
    failpoint: 'fresh session stored',
  },
  'context.scrubbed': { audit: true, count: ({ action }) => recovery(action) },
  'context.thinking-dropped': { audit: true, count: () => recovery('drop_thinking') },
  'context.output-lowered': { audit: true, count: () => recovery('lower_output') },
  'context.output-raised': { audit: true, count: () => recovery('raise_output') },
  'context.gave-up': { audit: true, count: ({ reason }) => recovery('give_up', reason) },
  'session.torn': { audit: true, alert: (turn, { records }) => tornAlert(turn, records) },
  'request.invalid': { audit: true },
  'model.answered': {},
  'model.failed': {},
  'message.capped': { audit: true },
  'question.decided': { audit: true },
  'tool.excluded': {
    audit: true,
    alert: (turn, { tool }) => refusedToolAlert(turn, tool),
    count: () => recovery('exclude_tool'),
  },
  'message.failed': { alert: (turn, { reason, detail }) => failedAlert(turn, reason, detail) },
  'message.gave-up': { alert: (turn, { reason, fault }) => gaveUpAlert(turn, reason, fault) },
  'history.refused': { alert: (turn, about) => historyRefusedAlert({ ...turn, ...about }) },
  'window.contradicted': {
    alert: (turn, { model, statedTokens, takenTokens }) => windowAlert(turn, model, statedTokens, takenTokens),
  },
  'fixed-parts.refused': { alert: (turn, { why, status }) => fixedPartsAlert(turn, why, status) },
  'model.gone': { alert: (turn, { gone, now }) => modelGoneAlert(turn, gone, now) },
};

/** The changes that record events: audit lines and alerts. Write these changes together with the effects of the events. */
export function changesToRecordEvents(turn: Turn, events: readonly TurnEvent[]): Change[] {
  return events.flatMap((event) => {
    const { audit, alert } = reportOf(event);
    const notice = alert?.(turn, event);
    return [...(audit ? [auditLine(turn, event)] : []), ...(notice ? [queuedAlert(turn.keys, notice)] : [])];
  });
}

/** One write of a turn, and the events that it records. */
export interface Step {
  /** The name of the step. A turn writes a named step only once; a step with an empty name may be written again. */
  step: string;
  changes?: readonly Change[];
  expected?: readonly Expected[];
  events: readonly TurnEvent[];
}

/**
 * Writes a step, with the audit lines and alerts of its events. Then, unless the result is `unmet`, counts the events and
 * exports their spans.
 *
 * Contract: throws `FencedError`, or what Redis throws. The events of a repeated step are counted again.
 */
export async function commit(
  turn: Turn<Observability>,
  { step, changes = [], expected, events }: Step,
): Promise<Exclude<Written, 'fenced'>> {
  const result = await turn.write(step, [...changes, ...changesToRecordEvents(turn, events)], expected);
  if (result === 'unmet') return result;
  const { telemetry, reach } = turn.env;
  for (const event of events) {
    const { count, mark, failpoint } = reportOf(event);
    if (mark) telemetry.mark(...mark(event));
    if (count) telemetry.count(...count(event));
    if (failpoint) reach(failpoint);
  }
  return result;
}

function reportOf(event: TurnEvent): Report<TurnEvent> {
  // The type of `REPORTS` guarantees that each report matches its event.
  return REPORTS[event.event] as Report<TurnEvent>;
}
