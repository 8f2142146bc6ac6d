import { SpanKind } from '@opentelemetry/api';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Logger } from '../../shared/base/log.ts';
import { METRIC, SPAN, type Telemetry, traceIdOf } from '../../shared/base/telemetry.ts';
import { type EntryId, parseChatKey } from '../../shared/redis/keys.ts';
import { type Budget, withBudget } from '../ask/budget.ts';
import { type Attempt, type Conclusion, FencedError, TIMEOUTS } from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { Begun, Lane, OutcomeRecord } from '../lane/lane.ts';
import type { TurnJob, TurnQueue } from '../lane/queue.ts';
import type { Share } from '../lane/slots.ts';
import type { Verdict } from '../lane/verdict.ts';
import { NOTICE } from '../reply/notices.ts';
import { newSessionId } from '../session/store.ts';
import { startDeadline } from './deadline.ts';
import { isNobodysFault } from './thrown.ts';
import { failTurn, runTurn, type TurnParts } from './turn.ts';

export interface ProcessorParts extends Omit<TurnParts, 'recovering'> {
  lane: Lane;
  queue: TurnQueue;
  /** The turns that this shard may run. */
  share: Share;
  /** Takes an entry out of the flow that cannot be answered. */
  discard: (entries: readonly EntryId[]) => Promise<void>;
  /** Absent when no budget is set. */
  budget: Budget | undefined;
  turnTimeoutMs: number;
  /** Whether the words of a message and its reply may be logged. */
  logContent: boolean;
  /** Aborted when the process must end: running turns are handed back. */
  ending: AbortSignal;
  log: Logger;
  telemetry: Telemetry;
  reach: ReachFailpoint;
}

/** Runs one job; the only place that spells verdicts the way BullMQ wants them. */
export type Processor = (
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
) => Promise<void>;

/** How long a suspect waits before it asks again whether it is the oldest. */
const SUSPECT_WAIT_MS = 1_000;
/** How long a job that was taken waits for a slot, and how long nobody takes it after that. */
const SLOT_PATIENCE_MS = 2_000;
const NO_SLOT_WAIT_MS = 20;
const TURN_TIMEOUT = 'turn_timeout';
const INTERNAL_ERROR = 'internal_error';
/** How soon a turn that runs notices that its user does not want it any more. */
const CANCEL_LOOK_MS = 1_000;

/** The way of a job: begin, run the turn, carry out its verdict, make the lane's next head a job. */
export function createProcessor(parts: ProcessorParts): Processor {
  return async (job, token, lockLost) => {
    const giveBack = await parts.share.take(SLOT_PATIENCE_MS);
    // Another process may have a slot for it, and this one asks for it again.
    if (!giveBack) return postpone(parts, job, token, NO_SLOT_WAIT_MS);
    try {
      await run(parts, job, token, lockLost);
    } finally {
      giveBack();
    }
  };
}

async function run(
  parts: ProcessorParts,
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
): Promise<void> {
  const begun = await begin(parts, job);
  if (begun.state === 'put aside') return;
  if (begun.state === 'suspect') return postpone(parts, job, token, SUSPECT_WAIT_MS);
  if (begun.state === 'fenced') throw new FencedError();
  if (begun.state !== 'begun') {
    if (begun.head) await parts.queue.add([begun.head]);
    return;
  }
  parts.reach('attempt begun');
  const { attempt } = begun;
  const attributes = { 'spillway.attempt': attempt.attempts, 'spillway.recovery.stage': attempt.stage };
  const verdict = await parts.telemetry.span(
    SPAN.turn,
    attributes,
    async (span) => {
      const decided = await attemptTurn(parts, attempt, lockLost).catch((error) => afterThrow(parts, attempt, error));
      span.setAttribute('spillway.verdict', decided.do);
      if (decided.do === 'settle') {
        span.setAttribute('spillway.outcome', decided.conclusion.outcome);
        await settle(parts, attempt, decided.conclusion);
      }
      return decided;
    },
    { parent: attempt.traceparent },
  );
  await obey(parts, job, token, attempt, verdict);
}

/**
 * Begins an attempt. A message whose record is such that this throws every time has no attempt that could tell its user
 * through the outbox: after as many tries as any other it is put aside.
 */
async function begin(parts: ProcessorParts, job: Job<TurnJob>): Promise<Begun | { state: 'put aside' }> {
  const { entry, chat } = job.data;
  try {
    return await parts.lane.begin(entry, chat, newSessionId());
  } catch (error) {
    if (isNobodysFault(error) || job.attemptsMade + 1 < parts.maxAttempts) throw error;
    parts.log.error({ err: error, entry, chat }, 'a message cannot be begun');
    const to = parseChatKey(chat);
    // Twice, should this process be killed before the next line: better than not at all.
    if (to) await parts.telegram.sendMessage(to, NOTICE.unreadable);
    await parts.discard([entry]);
    return { state: 'put aside' };
  }
}

/** A bug of ours, or a value that nobody can use: tried again as often as any failure of the model, then told. */
async function afterThrow(parts: ProcessorParts, attempt: Attempt, error: unknown): Promise<Verdict> {
  if (isNobodysFault(error)) throw error;
  const { entry, chat, attempts } = attempt;
  parts.log.error({ err: error, entry, chat, attempts }, 'a turn threw');
  if (attempts < parts.maxAttempts) return { do: 'later', delayMs: backoffMs(attempts), reason: INTERNAL_ERROR };
  return failTurn(parts, attempt, INTERNAL_ERROR, error instanceof Error ? error.name : 'no error');
}

async function attemptTurn(
  parts: ProcessorParts,
  attempt: Attempt,
  lockLost: AbortSignal | undefined,
): Promise<Verdict> {
  const deadline = startDeadline(parts.turnTimeoutMs);
  const handBack = () => deadline.cutShort();
  const watching = setInterval(async () => {
    // Handed back, it is begun again at once, and found to be cancelled. While Redis is away nobody can cancel anything.
    if (await parts.lane.isCancelled(attempt.entry).catch(() => false)) handBack();
  }, CANCEL_LOOK_MS);
  const sources = [parts.ending, ...(lockLost ? [lockLost] : [])];
  for (const source of sources) source.addEventListener('abort', handBack, { once: true });
  if (sources.some((source) => source.aborted)) handBack();
  try {
    const model = parts.budget ? withBudget(parts.model, parts.budget, attempt.chat) : parts.model;
    const verdict = await runTurn({ ...parts, model, recovering: deadline.recovering }, attempt, deadline.signal);
    if (verdict.do !== 'hand back' || !deadline.isTimedOut()) return verdict;
    return { do: 'later', delayMs: 1_000, reason: TURN_TIMEOUT };
  } finally {
    deadline.end();
    clearInterval(watching);
    for (const source of sources) source.removeEventListener('abort', handBack);
  }
}

/** A message that is settled, as the ledger and the operator see it. */
interface Settled {
  entry: EntryId;
  traceparent: string;
  sentAtMs?: number;
}

async function settle(parts: ProcessorParts, attempt: Attempt, conclusion: Conclusion): Promise<void> {
  const { entry, traceparent, attempts, recoveries } = attempt;
  const { outcome } = conclusion;
  const own: Settled = { entry, traceparent, ...(attempt.message.ok && { sentAtMs: attempt.message.value.sentAtMs }) };
  const also = conclusion.also ? await parts.lane.glance(conclusion.also) : [];
  const settledAtMs = attempt.nowMs();
  const recordOf = (settled: Settled, tried: Pick<OutcomeRecord, 'attempts' | 'recoveries'>) =>
    recordFor(attempt, conclusion, settled, { settledAtMs, ...tried });
  const { result, next } = await parts.telemetry.span(
    SPAN.settle,
    { 'messaging.system': 'redis', 'messaging.message.id': entry, 'spillway.outcome': outcome },
    () =>
      parts.lane.settle(
        attempt,
        recordOf(own, { attempts, recoveries }),
        also.map((each) => recordOf(each, { attempts: 0, recoveries: 0 })),
      ),
    { kind: SpanKind.CLIENT },
  );
  if (result === 'fenced') throw new FencedError();
  parts.reach('settled');
  for (const each of [own, ...also]) tellSettled(parts, attempt, conclusion, each, settledAtMs);
  if (!next) return;
  await parts.queue.add([next]);
  parts.reach('next added');
}

function recordFor(
  { chat, session }: Attempt,
  { outcome, reason, into }: Conclusion,
  { entry, traceparent, sentAtMs }: Settled,
  rest: Pick<OutcomeRecord, 'settledAtMs' | 'attempts' | 'recoveries'>,
): OutcomeRecord {
  return {
    entry,
    chat,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(into !== undefined && { into }),
    traceId: traceIdOf(traceparent),
    ...(sentAtMs !== undefined && { sentAtMs }),
    ...rest,
    session,
  };
}

function tellSettled(
  parts: ProcessorParts,
  attempt: Attempt,
  { outcome, reason, parts: told }: Conclusion,
  { entry, traceparent, sentAtMs }: Settled,
  settledAtMs: number,
): void {
  const { telemetry, log, logContent } = parts;
  telemetry.count(METRIC.outcomes, { outcome });
  if (sentAtMs !== undefined) telemetry.recordMs(METRIC.latency, settledAtMs - sentAtMs, { outcome });
  const isOwn = entry === attempt.entry;
  const content =
    logContent && isOwn && attempt.message.ok ? { content: { asked: attempt.message.value.content, told } } : {};
  log.info({ entry, chat: attempt.chat, outcome, reason, traceId: traceIdOf(traceparent), ...content }, 'settled');
}

/** BullMQ learns what happens to a job by the error that is thrown after the job was moved. */
async function obey(
  parts: ProcessorParts,
  job: Job<TurnJob>,
  token: string | undefined,
  attempt: Attempt,
  verdict: Verdict,
): Promise<void> {
  if (verdict.do === 'settle') return;
  if (verdict.do === 'later') {
    parts.log[verdict.isFree ? 'info' : 'warn'](
      { entry: attempt.entry, chat: attempt.chat, reason: verdict.reason, delayMs: verdict.delayMs },
      'tried again later',
    );
    await endAttempt(attempt, verdict);
    return postpone(parts, job, token, verdict.delayMs);
  }
  await endAttempt(attempt, verdict);
  await job.moveToWait(token);
  parts.reach('moved to wait');
  throw new WaitingError();
}

/** An attempt that ends with a verdict did not die. Once for each, however often the command is sent: a reply can be lost. */
async function endAttempt(
  { keys, entry, fence, write }: Attempt,
  verdict: Exclude<Verdict, { do: 'settle' }>,
): Promise<void> {
  const turn = keys.turn(entry);
  const isFree = verdict.do === 'hand back' || (verdict.do === 'later' && verdict.isFree === true);
  const isTimeout = verdict.do === 'later' && verdict.reason === TURN_TIMEOUT;
  await write(`ended:${fence}`, [
    ['HDEL', turn, 'running', 'deaths'],
    ['ZREM', keys.suspects, entry],
    ...(isFree ? [['HINCRBY', turn, 'attempts', -1] as const] : []),
    ...(isTimeout ? [['HINCRBY', turn, TIMEOUTS, 1] as const] : []),
  ]);
}

async function postpone(
  { queue, lane }: ProcessorParts,
  job: Job<TurnJob>,
  token: string | undefined,
  delayMs: number,
): Promise<never> {
  await queue.postpone(job, token, lane.nowMs(), delayMs);
  throw new DelayedError();
}
