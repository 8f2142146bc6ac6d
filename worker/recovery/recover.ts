import { alertCommand } from '../../shared/alert.ts';
import { METRIC, SPAN } from '../../shared/telemetry.ts';
import type { Attempt } from '../attempt.ts';
import { auditCommand } from '../audit.ts';
import { gaveUpAlert } from '../incident.ts';
import { NOTICE } from '../notice.ts';
import { startFreshSession } from './fresh-session.ts';
import { nextStep, OTHERWISE, type Step } from './policy.ts';
import { dropThinking, scrubLargest, scrubMedia, scrubMessage } from './scrub.ts';
import { compactForRetry } from './stage-one.ts';
import { moveTo, noteTried, type Overflow, type RecoverParts, type Recovery, reportFailedStage } from './step.ts';

const LIMIT_TOKENS_MIN = 1_000;
const OUTPUT_TOKENS_MIN = 1_024;
const FIT_MARGIN_TOKENS = 256;
const NOT_ASKED: ReadonlySet<string> = new Set(['paused', 'over_chat_budget', 'over_total_budget']);

/**
 * One step of recovery. The stage is written in the same fenced script as its effect, so a crash at any point repeats
 * nothing and skips nothing. Contract: throws `FencedError`, or what Redis throws; then nothing was written.
 */
export async function recover(parts: RecoverParts, overflow: Overflow, signal: AbortSignal): Promise<Recovery> {
  const { attempt, failure } = overflow;
  const step = nextStep({
    stage: attempt.stage,
    trigger: failure.kind,
    recoveries: attempt.recoveries - attempt.recoveriesBefore,
    tried: attempt.tried,
  });
  await report(parts, overflow);
  const limitTokens = lowered(overflow.limitTokens, failure.limitTokens);
  const taken = await takeOwn(parts, overflow, step, limitTokens);
  if (taken) return taken;
  const other = taken === false ? OTHERWISE[attempt.stage][failure.kind] : step;
  return take(parts, overflow, other, limitTokens, signal);
}

/** A step that belongs to one kind of failure. `false` when there is nothing that it could do. */
async function takeOwn(
  parts: RecoverParts,
  overflow: Overflow,
  step: Step,
  limitTokens: number,
): Promise<Recovery | false | undefined> {
  switch (step) {
    case 'lower output':
      return lowerOutput(parts, overflow, limitTokens);
    case 'scrub largest':
      return scrubLargest(parts, overflow);
    case 'scrub media':
      return scrubMedia(parts, overflow);
    case 'drop thinking':
      return dropThinking(parts, overflow);
    default:
      return undefined;
  }
}

async function take(
  parts: RecoverParts,
  overflow: Overflow,
  step: Step,
  limitTokens: number,
  signal: AbortSignal,
): Promise<Recovery> {
  const { attempt } = overflow;
  if (step === 'compact') {
    const failed = await compactForRetry(parts, overflow, limitTokens, signal);
    if (failed === undefined || signal.aborted) return { do: 'again' };
    // A summary that was not even asked for says nothing of the session: it must not cost one.
    if (failed.failure && NOT_ASKED.has(failed.failure.reason)) return { do: 'wait', failure: failed.failure };
    reportFailedStage(parts, 'none', failed.reason);
    return orReport(parts, attempt, () => startFreshSession(parts, overflow, limitTokens));
  }
  if (step === 'start fresh session') {
    if (attempt.stage === 'compacted') reportFailedStage(parts, 'compacted', 'second_overflow');
    return orReport(parts, attempt, () => startFreshSession(parts, overflow, limitTokens));
  }
  if (step === 'scrub message') return scrubMessage(parts, overflow, limitTokens);
  return giveUp(parts, overflow);
}

/** A stage that throws is seen in the trace; what it threw goes on, and the job is run again. */
async function orReport(parts: RecoverParts, { stage }: Attempt, work: () => Promise<Recovery>): Promise<Recovery> {
  try {
    return await work();
  } catch (error) {
    reportFailedStage(parts, stage, error instanceof Error ? error.name : 'unknown');
    throw error;
  }
}

async function lowerOutput(parts: RecoverParts, overflow: Overflow, limitTokens: number): Promise<Recovery | false> {
  const { attempt } = overflow;
  const maxOutputTokens = outputRoom(overflow, limitTokens);
  if (maxOutputTokens === undefined) return false;
  await attempt.write(`recover:${attempt.recoveries}`, [
    ['HSET', attempt.keys.turn(attempt.entry), 'maxOutputTokens', maxOutputTokens],
    ...moveTo(attempt, attempt.stage),
    noteTried(attempt, 'fit'),
    auditCommand(attempt, { event: 'context.output-lowered', maxOutputTokens }),
  ]);
  parts.telemetry.count(METRIC.recoveries, { action: 'lower_output', result: 'ok' });
  return { do: 'again' };
}

/** Nothing more can be done for this message; the chat itself stays usable, in its fresh session. */
function giveUp(parts: RecoverParts, { attempt, failure }: Overflow): Recovery {
  reportFailedStage(parts, attempt.stage, failure.reason);
  parts.telemetry.count(METRIC.recoveries, { action: 'give_up', result: failure.reason });
  return {
    do: 'conclude',
    conclusion: {
      outcome: 'failed',
      reason: failure.reason,
      parts: [failure.kind === 'media' || failure.kind === 'poison' ? NOTICE.notTaken : NOTICE.gaveUp],
    },
    commands: [
      alertCommand(attempt.keys, gaveUpAlert(attempt, failure.reason)),
      auditCommand(attempt, { event: 'context.gave-up', reason: failure.reason }),
    ],
  };
}

async function report({ telemetry }: RecoverParts, { attempt, failure }: Overflow): Promise<void> {
  const { kind, observedTokens, limitTokens } = failure;
  const phase = failure.reason.startsWith('counted_') ? 'counted' : 'refused';
  const numbers = {
    ...(observedTokens !== undefined && { observedTokens }),
    ...(limitTokens !== undefined && { limitTokens }),
  };
  await attempt.write(`exceeded:${attempt.recoveries}`, [
    auditCommand(attempt, { event: 'context.exceeded', phase, kind, stage: attempt.stage, ...numbers }),
  ]);
  telemetry.count(METRIC.overflows, { kind: failure.kind, stage: attempt.stage });
  telemetry.mark(SPAN.overflowDetected, {
    'spillway.overflow.kind': failure.kind,
    'spillway.recovery.stage': attempt.stage,
    'error.type': failure.reason,
    ...(failure.observedTokens !== undefined && { 'spillway.overflow.observed_tokens': failure.observedTokens }),
    ...(failure.limitTokens !== undefined && { 'spillway.overflow.limit_tokens': failure.limitTokens }),
  });
}

/** An error that states a smaller window is believed; one that states nonsense is not. */
function lowered(knownTokens: number, statedTokens: number | undefined): number {
  if (statedTokens === undefined || statedTokens < LIMIT_TOKENS_MIN) return knownTokens;
  return Math.min(knownTokens, statedTokens);
}

/** How much output fits beside the input; nothing when that would be too little to be an answer. */
function outputRoom({ failure }: Overflow, limitTokens: number): number | undefined {
  if (failure.observedTokens === undefined) return undefined;
  const room = limitTokens - failure.observedTokens - FIT_MARGIN_TOKENS;
  return room >= OUTPUT_TOKENS_MIN ? room : undefined;
}
