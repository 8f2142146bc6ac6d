/** The three parts of an attempt's end: settling the message, moving its BullMQ job, and exporting spans. */
import { type Attributes, type Span, SpanKind } from '@opentelemetry/api';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, messaging, SPAN, type Telemetry, traceIdOf } from '../../shared/base/telemetry.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { FencedError } from '../../shared/state/change.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import { type Conclusion, clearPoisonCandidate } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import type { TurnJob } from '../lane/queue.ts';
import type { AttemptResult } from '../lane/verdict.ts';

const MS_PER_S = 1_000;

/** Settles a message, and adds a job for the lane's next head. Contract: throws `FencedError`, or what Redis throws. */
export async function settle(
  turn: Turn<Env>,
  { conclusion, delivery, keepsAnswer }: Extract<AttemptResult, { kind: 'settle' }>,
): Promise<void> {
  const { env } = turn;
  const record = recordFor(turn, conclusion, delivery);
  const { result, next } = await env.telemetry.span(
    SPAN.settle,
    { ...messaging('settle', 'inbound'), 'messaging.message.id': turn.entry, 'spillway.outcome': record.outcome },
    () => env.lane.settle(turn, record, keepsAnswer),
    { kind: SpanKind.CLIENT },
  );
  if (result === 'fenced') throw new FencedError();
  env.reach('settled');
  reportSettled(turn, conclusion, record);
  if (!next) return;
  await env.queue.add([next]);
  env.reach('next added');
}

function recordFor(turn: Turn, conclusion: Conclusion, delivery: OutcomeRecord['delivery']): OutcomeRecord {
  const { entry, chat, traceparent, message, attempts, recoveries, nowMs } = turn;
  const { outcome, reason, into } = conclusion;
  return {
    entry,
    chat,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(into !== undefined && { into }),
    traceId: traceIdOf(traceparent),
    ...(message.ok && { sentAtMs: message.value.sentAtMs }),
    attempts,
    recoveries,
    settledAtMs: nowMs(),
    ...(delivery && { delivery }),
    session: turn.sessionAfter(conclusion),
  };
}

function reportSettled(
  { message, chat, env }: Turn<Env>,
  { parts }: Conclusion,
  { entry, outcome, reason, traceId, sentAtMs, settledAtMs }: OutcomeRecord,
): void {
  const { settings, telemetry, log } = env;
  telemetry.count(METRIC.outcomes, { outcome });
  if (sentAtMs !== undefined) telemetry.record(METRIC.latency, (settledAtMs - sentAtMs) / MS_PER_S, { outcome });
  const content =
    settings.LOG_CONTENT && message.ok ? { content: { asked: message.value.content, answered: parts } } : {};
  log.info({ entry, chat, outcome, reason, traceId, ...content }, 'settled');
}

const NO_SLOT_WAIT_MS = 20;
/** A process without a slot fetches no job for up to this time, so that another process can take the returned job. */
const STAND_BACK_MS = 500;

/** Why an attempt ended without an outcome, as a short code. */
export function reasonOf(verdict: Exclude<AttemptResult, { kind: 'settle' }>): string {
  if (verdict.kind === 'later') return verdict.reason;
  if (verdict.kind === 'park') return 'parked';
  return verdict.kind === 'hand back' ? (verdict.reason ?? 'handed_back') : 'recovery';
}

/** The reason code of a retry after the attempt's time ran out. */
export const TURN_TIMEOUT = 'turn_timeout';

const LOG_TEXTS = { park: 'waits for a person', again: 'tried again at once', 'hand back': 'handed back' } as const;

/**
 * Moves the job as the verdict says, and throws the error that BullMQ then expects: `DelayedError` or `WaitingError`. Returns
 * for a settled or parked message, whose job BullMQ itself completes.
 */
export async function moveJob(
  job: Job<TurnJob>,
  token: string | undefined,
  turn: Turn<Env>,
  verdict: AttemptResult,
): Promise<void> {
  const { env } = turn;
  if (verdict.kind === 'settle') return;
  const { log } = env;
  const fields = { reason: reasonOf(verdict), tookMs: Math.round(turn.elapsedMs()) };
  if (verdict.kind === 'later')
    log[verdict.isUncounted ? 'info' : 'warn']({ ...fields, delayMs: verdict.delayMs }, 'tried again later');
  else log.info(fields, LOG_TEXTS[verdict.kind]);
  await endAttempt(turn, verdict);
  if (verdict.kind === 'later') return postpone(env, job, token, verdict.delayMs);
  if (verdict.kind === 'park') return;
  await job.moveToWait(token);
  env.reach('moved to wait');
  throw new WaitingError();
}

/** Stores that an attempt ended without a crash, once per attempt, even if the command is repeated after a lost reply. */
async function endAttempt(turn: Turn, verdict: Exclude<AttemptResult, { kind: 'settle' }>): Promise<void> {
  const end = { atMs: turn.nowMs(), attempt: turn.attempts, reason: reasonOf(verdict) };
  const endWithDelay = verdict.kind === 'later' ? { ...end, delayMs: verdict.delayMs } : end;
  const isUncounted = verdict.kind === 'later' ? verdict.isUncounted === true : verdict.kind !== 'again';
  await turn.write(`ended:${turn.fencingToken}`, [
    ...turn.endAttempt(endWithDelay),
    clearPoisonCandidate(turn.keys, turn.entry),
    ...(isUncounted ? [turn.refundAttempt()] : []),
  ]);
}

/** Delays a running job, and throws the error that BullMQ then expects. */
export async function postpone(
  { queue, lane }: Env,
  job: Job<TurnJob>,
  token: string | undefined,
  delayMs: number,
): Promise<never> {
  await queue.postpone(job, token, lane.nowMs(), delayMs);
  throw new DelayedError();
}

/**
 * Returns a job to the queue because this process has no slot for the job, but another process may have one. Then waits briefly
 * for a slot: BullMQ fetches no other job in place of this one until this call ends. Throws the error that BullMQ expects.
 */
export async function returnJobWithoutSlot(env: Env, job: Job<TurnJob>, token: string | undefined): Promise<never> {
  await env.queue.postpone(job, token, env.lane.nowMs(), NO_SLOT_WAIT_MS);
  await env.share.whenFree(STAND_BACK_MS);
  throw new DelayedError();
}

/** Waits shorter than this are usual, and get no span. */
const WAIT_MS_MIN = 50;
/** Attempts that end within this time need no extra span about their start. */
const RUNNING_MS = 1_000;

/** The attributes that an attempt's span has when the attempt begins; none unless spans are exported. */
export function attemptAttributes({ isExporting, chat }: Telemetry, turn: Turn): Attributes {
  if (!isExporting) return {};
  return {
    'spillway.attempt': turn.attempts,
    'spillway.recovery.stage': turn.stage,
    'spillway.entry': turn.entry,
    'spillway.session': turn.session,
    ...chat(turn.chat),
  };
}

/** The attributes by which viewers that know the gen_ai conventions recognise an attempt as one run of an agent. */
export function agentAttributes({ isExporting }: Telemetry, { session }: Turn): Attributes {
  if (!isExporting) return {};
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'spillway',
    'gen_ai.conversation.id': session,
  };
}

/**
 * Exports a span for the time before this attempt. After a killed attempt, which could not export its span: the time since that
 * attempt began. After any other attempt: the wait since its end. Else: the wait in the lane and the queue, unless short.
 */
export function traceTimeBefore(telemetry: Telemetry, turn: Turn, job: Pick<Job<TurnJob>, 'timestamp'>): void {
  if (!telemetry.isExporting) return;
  const { mark } = telemetry;
  const { traceparent: parent, cutFromMs } = turn;
  const untilMs = Date.now();
  // Entry ids and the turn's record use the clock of Redis, spans the clock of this machine.
  const aheadMs = untilMs - turn.nowMs();
  if (cutFromMs !== undefined) {
    const { 'spillway.recovery.stage': _, ...attributes } = attemptAttributes(telemetry, turn);
    const cutAttributes = { ...attributes, 'spillway.attempt': turn.attempts - 1, ...agentAttributes(telemetry, turn) };
    const sinceMs = Math.min(untilMs, cutFromMs + aheadMs);
    mark(SPAN.cut, cutAttributes, { sinceMs, untilMs, parent, token: turn.previousFence });
    return;
  }
  const lastEnd = turn.ends.at(-1);
  if (lastEnd) {
    const sinceMs = Math.min(untilMs, lastEnd.atMs + aheadMs);
    mark(SPAN.retryWait, { 'spillway.reason': lastEnd.reason }, { sinceMs, untilMs, parent });
    return;
  }
  const acceptedMs = Math.min(untilMs, msOf(turn.entry) + aheadMs);
  if (untilMs - acceptedMs < WAIT_MS_MIN) return;
  const laneMs = Math.min(untilMs, Math.max(acceptedMs, job.timestamp)) - acceptedMs;
  const queueMs = untilMs - acceptedMs - laneMs;
  const longer = laneMs > queueMs ? 'lane' : 'queue';
  const attributes = { 'spillway.wait.reason': longer, 'spillway.wait.lane_ms': laneMs };
  mark(SPAN.laneWait, attributes, { sinceMs: acceptedMs, untilMs, parent });
}

/** Exports an extra span for an attempt that still runs after a second. Returns a function that stops the timer. */
export function showRunning({ isExporting, mark }: Telemetry, attributes: Attributes): () => void {
  if (!isExporting) return () => {};
  const timer = setTimeout(() => mark(SPAN.started, attributes), RUNNING_MS);
  return () => clearTimeout(timer);
}

/** Records on the span how an attempt ended; a failed or undeliverable message marks the span as failed. Counts retries. */
export function showVerdict({ count }: Telemetry, span: Span, verdict: AttemptResult): void {
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
