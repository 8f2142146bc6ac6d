import type { Attributes, Span } from '@opentelemetry/api';
import type { Job } from 'bullmq';
import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import { msOf } from '../../shared/redis/stream.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { TurnJob } from '../lane/queue.ts';
import type { Delivered } from '../lane/verdict.ts';
import { reasonOf } from './requeue.ts';

/** A shorter wait is how the flow works, and no gap in a trace. */
const WAIT_MS_MIN = 50;
/** Most attempts end within this time, and need no other span. */
const RUNNING_MS = 1_000;

/** What the span of an attempt says at its start. */
export function attemptAttributes({ isExporting, chat }: Telemetry, attempt: Attempt): Attributes {
  if (!isExporting) return {};
  return {
    'spillway.attempt': attempt.attempts,
    'spillway.recovery.stage': attempt.stage,
    'spillway.entry': attempt.entry,
    'spillway.session': attempt.session,
    'gen_ai.conversation.id': attempt.session,
    ...chat(attempt.chat),
  };
}

/** Shows what the message waited for until this attempt: the attempt before says why, else its lane and the queue. */
export function showWait(
  { isExporting, mark }: Telemetry,
  attempt: Attempt,
  job: Pick<Job<TurnJob>, 'timestamp'>,
): void {
  if (!isExporting) return;
  const { traceparent: parent } = attempt;
  const untilMs = Date.now();
  // Entry ids and the turn's record go by Redis' clock, spans by this machine's.
  const aheadMs = untilMs - attempt.nowMs();
  const before = attempt.turn.ends.at(-1);
  if (before) {
    const sinceMs = Math.min(untilMs, before.atMs + aheadMs);
    mark(SPAN.retryWait, { 'spillway.reason': before.reason }, { sinceMs, untilMs, parent });
    return;
  }
  const acceptedMs = Math.min(untilMs, msOf(attempt.entry) + aheadMs);
  if (untilMs - acceptedMs < WAIT_MS_MIN) return;
  const laneMs = Math.min(untilMs, Math.max(acceptedMs, job.timestamp)) - acceptedMs;
  const queueMs = untilMs - acceptedMs - laneMs;
  const longer = laneMs > queueMs ? 'lane' : 'queue';
  const attributes = { 'spillway.wait.reason': longer, 'spillway.wait.lane_ms': laneMs };
  mark(SPAN.laneWait, attributes, { sinceMs: acceptedMs, untilMs, parent });
}

/**
 * The span of an attempt is exported when it ends. One that still runs after a second shows itself by a span of its own.
 * Returns what ends that.
 */
export function showRunning({ isExporting, mark }: Telemetry, attributes: Attributes): () => void {
  if (!isExporting) return () => {};
  const timer = setTimeout(() => mark(SPAN.started, attributes), RUNNING_MS);
  return () => clearTimeout(timer);
}

/** Notes why an attempt ended; a message that failed makes its span one that failed. */
export function showVerdict({ count }: Telemetry, span: Span, verdict: Delivered): void {
  span.setAttribute('spillway.verdict', verdict.kind);
  if (verdict.kind !== 'settle') {
    const reason = reasonOf(verdict);
    span.setAttribute('spillway.reason', reason);
    if (verdict.kind === 'later') span.setAttribute('spillway.retry.delay_ms', verdict.delayMs);
    count(METRIC.retries, { reason });
    return;
  }
  const { outcome, reason } = verdict.conclusion;
  span.setAttribute('spillway.outcome', outcome);
  if (reason !== undefined) span.setAttribute('spillway.reason', reason);
  if (outcome === 'failed' || outcome === 'undeliverable') failSpan(span, reason ?? outcome);
}
