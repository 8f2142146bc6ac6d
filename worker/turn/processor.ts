import { SpanKind } from '@opentelemetry/api';
import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { Instruments } from '../../shared/base/instruments.ts';
import { METRIC, SPAN, traceIdOf } from '../../shared/base/telemetry.ts';
import { type EntryId, parseChatKey } from '../../shared/redis/keys.ts';
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
import { failTurn, runTurn, type TurnPorts } from './turn.ts';

/** What running jobs works with. */
export interface ProcessorPorts {
  turn: TurnPorts & { lane: Lane; ask: { instruments: Instruments } };
  queue: TurnQueue;
  /** The turns that this shard may run. */
  share: Share;
  /** Removes an entry that cannot be answered from the flow. */
  discard: (entries: readonly EntryId[]) => Promise<void>;
  /** Aborted when the process must end: running turns are handed back. */
  ending: AbortSignal;
}

/** Runs one job; the only place that translates verdicts into BullMQ's terms. */
export type Processor = (
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
) => Promise<void>;

/** How long a poison candidate waits before it asks again whether it is the oldest. */
const POISON_CANDIDATE_WAIT_MS = 1_000;
/** How long a job that was taken waits for a slot, and how long it is delayed after that. */
const SLOT_TIMEOUT_MS = 2_000;
const NO_SLOT_WAIT_MS = 20;
/** How long a process without a slot leaves the job to others; without that it may win it back each time. */
const STAND_BACK_MS = 500;
const TURN_TIMEOUT = 'turn_timeout';
const INTERNAL_ERROR = 'internal_error';
/** How soon a running turn notices that its user cancelled it. */
const CANCEL_LOOK_MS = 1_000;

/** The life of a job: begin, run the turn, carry out its verdict, make the lane's next head a job. */
export function createProcessor(ports: ProcessorPorts): Processor {
  return async (job, token, lockLost) => {
    const giveBack = await ports.share.take(SLOT_TIMEOUT_MS);
    if (!giveBack) return handBack(ports, job, token);
    try {
      await run(ports, job, token, lockLost);
    } finally {
      giveBack();
    }
  };
}

async function run(
  ports: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
): Promise<void> {
  const begun = await begin(ports, job);
  if (begun.kind === 'put aside') return;
  if (begun.kind === 'poison candidate') return postpone(ports, job, token, POISON_CANDIDATE_WAIT_MS);
  if (begun.kind === 'fenced') throw new FencedError();
  if (begun.kind !== 'begun') {
    if (begun.head) await ports.queue.add([begun.head]);
    return;
  }
  ports.turn.ask.instruments.reach('attempt begun');
  const { attempt } = begun;
  const attributes = { 'spillway.attempt': attempt.attempts, 'spillway.recovery.stage': attempt.stage };
  const verdict = await ports.turn.ask.instruments.telemetry.span(
    SPAN.turn,
    attributes,
    async (span) => {
      const decided = await attemptTurn(ports, attempt, lockLost).catch((error) => afterThrow(ports, attempt, error));
      span.setAttribute('spillway.verdict', decided.kind);
      if (decided.kind === 'settle') {
        span.setAttribute('spillway.outcome', decided.conclusion.outcome);
        await settle(ports, attempt, decided.conclusion);
      }
      return decided;
    },
    { parent: attempt.traceparent },
  );
  await obey(ports, job, token, attempt, verdict);
}

/**
 * Begins an attempt. If a message's record makes this throw every time, no attempt exists that could notify its user
 * through the outbox: after as many tries as any other, the message is set aside.
 */
async function begin(ports: ProcessorPorts, job: Job<TurnJob>): Promise<Begun | { kind: 'put aside' }> {
  const { entry, chat } = job.data;
  try {
    return await ports.turn.lane.begin(entry, chat, newSessionId());
  } catch (error) {
    if (isNobodysFault(error) || job.attemptsMade + 1 < ports.turn.ask.settings.maxAttempts) throw error;
    ports.turn.ask.instruments.log.error({ err: error, entry, chat }, 'a message cannot be begun');
    const to = parseChatKey(chat);
    // If this process is killed before the next line, the notice is sent twice: better than never.
    if (to) await ports.turn.telegram.sendMessage(to, NOTICE.unreadable);
    await ports.discard([entry]);
    return { kind: 'put aside' };
  }
}

/** A bug of ours, or an unusable value: retried as often as any failure of the model, then the user is notified. */
async function afterThrow(ports: ProcessorPorts, attempt: Attempt, error: unknown): Promise<Verdict> {
  if (isNobodysFault(error)) throw error;
  const { entry, chat, attempts } = attempt;
  ports.turn.ask.instruments.log.error({ err: error, entry, chat, attempts }, 'a turn threw');
  if (attempts < ports.turn.ask.settings.maxAttempts)
    return { kind: 'later', delayMs: backoffMs(attempts), reason: INTERNAL_ERROR };
  return failTurn(ports.turn, attempt, INTERNAL_ERROR, error instanceof Error ? error.name : 'no error');
}

async function attemptTurn(
  ports: ProcessorPorts,
  attempt: Attempt,
  lockLost: AbortSignal | undefined,
): Promise<Verdict> {
  const deadline = startDeadline(ports.turn.ask.settings.turnTimeoutMs);
  const handBack = () => deadline.cutShort();
  const watching = setInterval(async () => {
    // Once handed back, the message begins again at once and is found cancelled. While Redis is away no cancellation
    // can arrive.
    if (await ports.turn.lane.isCancelled(attempt.entry).catch(() => false)) handBack();
  }, CANCEL_LOOK_MS);
  const sources = [ports.ending, ...(lockLost ? [lockLost] : [])];
  for (const source of sources) source.addEventListener('abort', handBack, { once: true });
  if (sources.some((source) => source.aborted)) handBack();
  try {
    const verdict = await runTurn(ports.turn, attempt, deadline);
    if (verdict.kind !== 'hand back' || !deadline.isTimedOut()) return verdict;
    return { kind: 'later', delayMs: 1_000, reason: TURN_TIMEOUT };
  } finally {
    deadline.end();
    clearInterval(watching);
    for (const source of sources) source.removeEventListener('abort', handBack);
  }
}

/** A settled message, as the ledger and the operator see it. */
interface Settled {
  entry: EntryId;
  traceparent: string;
  sentAtMs?: number;
}

async function settle(ports: ProcessorPorts, attempt: Attempt, conclusion: Conclusion): Promise<void> {
  const { entry, traceparent, attempts, recoveries } = attempt;
  const { outcome } = conclusion;
  const own: Settled = { entry, traceparent, ...(attempt.message.ok && { sentAtMs: attempt.message.value.sentAtMs }) };
  const also = conclusion.also ? await ports.turn.lane.glance(conclusion.also) : [];
  const settledAtMs = attempt.nowMs();
  const recordOf = (settled: Settled, tried: Pick<OutcomeRecord, 'attempts' | 'recoveries'>) =>
    recordFor(attempt, conclusion, settled, { settledAtMs, ...tried });
  const { result, next } = await ports.turn.ask.instruments.telemetry.span(
    SPAN.settle,
    { 'messaging.system': 'redis', 'messaging.message.id': entry, 'spillway.outcome': outcome },
    () =>
      ports.turn.lane.settle(
        attempt,
        recordOf(own, { attempts, recoveries }),
        also.map((each) => recordOf(each, { attempts: 0, recoveries: 0 })),
      ),
    { kind: SpanKind.CLIENT },
  );
  if (result === 'fenced') throw new FencedError();
  ports.turn.ask.instruments.reach('settled');
  for (const each of [own, ...also]) tellSettled(ports, attempt, conclusion, each, settledAtMs);
  if (!next) return;
  await ports.queue.add([next]);
  ports.turn.ask.instruments.reach('next added');
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
  ports: ProcessorPorts,
  attempt: Attempt,
  { outcome, reason, parts: answered }: Conclusion,
  { entry, traceparent, sentAtMs }: Settled,
  settledAtMs: number,
): void {
  const { settings, instruments } = ports.turn.ask;
  const { telemetry, log } = instruments;
  telemetry.count(METRIC.outcomes, { outcome });
  if (sentAtMs !== undefined) telemetry.recordMs(METRIC.latency, settledAtMs - sentAtMs, { outcome });
  const isOwn = entry === attempt.entry;
  const content =
    settings.logContent && isOwn && attempt.message.ok
      ? { content: { asked: attempt.message.value.content, answered } }
      : {};
  log.info({ entry, chat: attempt.chat, outcome, reason, traceId: traceIdOf(traceparent), ...content }, 'settled');
}

/** BullMQ expects the error that matches where the job was moved. */
async function obey(
  ports: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
  attempt: Attempt,
  verdict: Verdict,
): Promise<void> {
  if (verdict.kind === 'settle') return;
  if (verdict.kind === 'later') {
    ports.turn.ask.instruments.log[verdict.isFree ? 'info' : 'warn'](
      { entry: attempt.entry, chat: attempt.chat, reason: verdict.reason, delayMs: verdict.delayMs },
      'tried again later',
    );
    await endAttempt(attempt, verdict);
    return postpone(ports, job, token, verdict.delayMs);
  }
  await endAttempt(attempt, verdict);
  await job.moveToWait(token);
  ports.turn.ask.instruments.reach('moved to wait');
  throw new WaitingError();
}

/**
 * An attempt that ends with a verdict did not crash. Once per attempt, even if the command is repeated after a lost
 * reply.
 */
async function endAttempt(
  { keys, entry, fencingToken, write }: Attempt,
  verdict: Exclude<Verdict, { kind: 'settle' }>,
): Promise<void> {
  const turn = keys.turn(entry);
  const isFree = verdict.kind === 'hand back' || (verdict.kind === 'later' && verdict.isFree === true);
  const isTimeout = verdict.kind === 'later' && verdict.reason === TURN_TIMEOUT;
  await write(`ended:${fencingToken}`, [
    ['HDEL', turn, 'running', 'deaths'],
    ['ZREM', keys.poisonCandidates, entry],
    ...(isFree ? [['HINCRBY', turn, 'attempts', -1] as const] : []),
    ...(isTimeout ? [['HINCRBY', turn, TIMEOUTS, 1] as const] : []),
  ]);
}

/** For another process, which may have a free slot. As long as this job is not over here, BullMQ gives us no other. */
async function handBack(ports: ProcessorPorts, job: Job<TurnJob>, token: string | undefined): Promise<never> {
  await ports.queue.postpone(job, token, ports.turn.lane.nowMs(), NO_SLOT_WAIT_MS);
  await ports.share.whenFree(STAND_BACK_MS);
  throw new DelayedError();
}

async function postpone(
  { queue, turn: { lane } }: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
  delayMs: number,
): Promise<never> {
  await queue.postpone(job, token, lane.nowMs(), delayMs);
  throw new DelayedError();
}
