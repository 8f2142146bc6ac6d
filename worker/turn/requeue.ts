import { DelayedError, type Job, WaitingError } from 'bullmq';
import { clearPoisonCandidate } from '../../shared/state/turn/turn.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { TurnJob } from '../lane/queue.ts';
import type { Delivered } from '../lane/verdict.ts';
import type { ProcessorPorts } from './processor.ts';

const NO_SLOT_WAIT_MS = 20;
/** How long a process without a slot leaves the job to others; without that it may win it back each time. */
const STAND_BACK_MS = 500;

/** Why an attempt ended without an outcome, as a short code. */
export function reasonOf(verdict: Exclude<Delivered, { kind: 'settle' }>): string {
  if (verdict.kind === 'later') return verdict.reason;
  return verdict.kind === 'hand back' ? (verdict.reason ?? 'handed_back') : 'recovery';
}

/** The reason of a retry after the attempt's time ran out. */
export const TURN_TIMEOUT = 'turn_timeout';

/**
 * Carries out a verdict: moves the job to where it says. The only place that translates verdicts into BullMQ's terms,
 * which expects the error that matches where the job was moved; `settle` leaves it where it is, since it is done.
 */
export async function obey(
  ports: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
  attempt: Attempt,
  verdict: Delivered,
): Promise<void> {
  if (verdict.kind === 'settle') return;
  const { log } = ports.turn.ask.observability;
  const ended = { reason: reasonOf(verdict), tookMs: Math.round(attempt.elapsedMs()) };
  if (verdict.kind === 'later') {
    log[verdict.isFree ? 'info' : 'warn']({ ...ended, delayMs: verdict.delayMs }, 'tried again later');
    await endAttempt(attempt, verdict);
    return postpone(ports, job, token, verdict.delayMs);
  }
  log.info(ended, verdict.kind === 'again' ? 'tried again at once' : 'handed back');
  await endAttempt(attempt, verdict);
  await job.moveToWait(token);
  ports.turn.ask.observability.reach('moved to wait');
  throw new WaitingError();
}

/**
 * An attempt that ends with a verdict did not crash. Once per attempt, even if the command is repeated after a lost
 * reply.
 */
async function endAttempt(
  { keys, entry, fencingToken, write, attempts, nowMs, turn }: Attempt,
  verdict: Exclude<Delivered, { kind: 'settle' }>,
): Promise<void> {
  const end = { atMs: nowMs(), attempt: attempts, reason: reasonOf(verdict) };
  const put = verdict.kind === 'later' ? { ...end, delayMs: verdict.delayMs } : end;
  const isFree = verdict.kind === 'hand back' || (verdict.kind === 'later' && verdict.isFree === true);
  await write(`ended:${fencingToken}`, [
    ...turn.endAttempt(put),
    clearPoisonCandidate(keys, entry),
    ...(isFree ? [turn.freeAttempt()] : []),
  ]);
}

/** Moves a job to the delayed ones; throws what tells BullMQ so. */
export async function postpone(
  { queue, turn: { lane } }: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
  delayMs: number,
): Promise<never> {
  await queue.postpone(job, token, lane.nowMs(), delayMs);
  throw new DelayedError();
}

/**
 * Returns a job for which this process has no slot: another process may have one. As long as the job is not over here,
 * BullMQ gives us no other, so we stand back for a moment, or until a slot is free.
 */
export async function handBack(
  { queue, share, turn: { lane } }: ProcessorPorts,
  job: Job<TurnJob>,
  token: string | undefined,
): Promise<never> {
  await queue.postpone(job, token, lane.nowMs(), NO_SLOT_WAIT_MS);
  await share.whenFree(STAND_BACK_MS);
  throw new DelayedError();
}
