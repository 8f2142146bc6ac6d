import { METRIC, SPAN } from '../../shared/base/telemetry.ts';
import { alertCommand } from '../../shared/flow/alert.ts';
import { fixedPartsAlert } from '../alerts/messages.ts';
import { type Attempt, BLAMED } from '../lane/attempt.ts';
import { auditCommand } from '../lane/audit-trail.ts';
import { isEndpointTrouble } from '../model/breaker.ts';
import {
  type LearntLimit,
  LIMIT_TOKENS_MIN,
  type Overflow,
  type RecoverPorts,
  type Recovery,
  type RecoveryTime,
  reportFailedStage,
} from './effects.ts';
import type { FixedPartsVerdict } from './fixed-parts.ts';
import { giveUp, refuseTurn } from './give-up.ts';
import { leaveOutTools } from './named-tools.ts';
import { lowerOutput, raiseOutput } from './output.ts';
import { asksForBlame, nextStep, OTHERWISE, type Step } from './policy.ts';
import { dropThinking, scrubLargest, scrubMedia, scrubMessage, scrubResults } from './scrub.ts';
import { compactForRetry, fitsModel, leaveUncompacted, STAGE_1_OVER } from './stage-1.ts';
import { startFreshSession } from './stage-2.ts';
import { isRefusedForLength } from './storm.ts';
import { wasNotAsked } from './summary-call.ts';

/** No supported model has a smaller window, so a smaller request was not refused for its length. */
const GUESS_TOKENS_MIN = 2_000;
/** A refusal without numbers shows that the window is smaller than what was sent; our count may be off. */
const GUESS_SHARE = 0.9;
/** With less room than this beside the fixed parts, no answer fits. */
const ANSWER_TOKENS_MIN = 1_024;
/** Listed among the kinds that were tried. */
const ASKED_AGAIN = 'asked again';

/**
 * One step of recovery. The stage is written in the same fenced script as its effect, so a crash at any point repeats
 * nothing and skips nothing. Contract: throws `FencedError`, or what Redis throws; then nothing was written.
 */
export async function recover(ports: RecoverPorts, overflow: Overflow, time: RecoveryTime): Promise<Recovery> {
  const { attempt, failure } = overflow;
  const step = nextStep({
    stage: attempt.stage,
    trigger: failure.kind,
    recoveries: attempt.recoveries - attempt.recoveriesBefore,
    tried: attempt.refusalsInRow > 0 ? [...attempt.tried, 'refusal'] : attempt.tried,
  });
  await report(ports, overflow);
  const storm = isRefusedForLength(failure) ? await ports.endpoint.storm.enter(attempt) : undefined;
  if (storm) return { kind: 'wait', failure: storm };
  const learnt = learn(overflow);
  if (failure.kind === 'token' && !learnt.isGuess && overflow.fixedTokens > learnt.limitTokens - ANSWER_TOKENS_MIN) {
    // If our count is right, nothing that a chat could give up would help: the endpoint knows.
    const verdict = await askFixedParts(ports, overflow, time.signal);
    if (verdict.kind === 'refused') return concludeFixedParts(overflow, verdict.failure.reason);
    if (verdict.kind === 'unclear') return { kind: 'wait', failure: verdict.failure };
  }
  const withoutTools =
    failure.tool === undefined ? undefined : await leaveOutTools(ports, overflow, failure.tool, time);
  if (withoutTools) return withoutTools;
  const withoutResults = step === 'try without history' && (await scrubResults(ports, overflow));
  if (withoutResults) return withoutResults;
  const taken = await takeOwn(ports, overflow, step, learnt);
  if (taken) return taken;
  const other = taken === false ? OTHERWISE[attempt.stage][failure.kind] : step;
  return take(ports, overflow, other, learnt, time);
}

function askFixedParts(ports: RecoverPorts, overflow: Overflow, signal: AbortSignal): Promise<FixedPartsVerdict> {
  return ports.endpoint.takesFixedParts(overflow.failure, overflow.askedOutputTokens, signal);
}

/** A step that belongs to one kind of failure. `false` when it has nothing to do. */
async function takeOwn(
  ports: RecoverPorts,
  overflow: Overflow,
  step: Step,
  { limitTokens }: LearntLimit,
): Promise<Recovery | false | undefined> {
  switch (step) {
    case 'lower output':
      return lowerOutput(ports, overflow, limitTokens);
    case 'raise output':
      return raiseOutput(ports, overflow, limitTokens);
    case 'scrub largest':
      return scrubLargest(ports, overflow);
    case 'scrub media':
      return scrubMedia(ports, overflow);
    case 'drop thinking':
      return dropThinking(ports, overflow);
    default:
      return undefined;
  }
}

async function take(
  ports: RecoverPorts,
  overflow: Overflow,
  step: Step,
  learnt: LearntLimit,
  time: RecoveryTime,
): Promise<Recovery> {
  const { attempt } = overflow;
  switch (step) {
    case 'compact':
      return compactOrStartFresh(ports, overflow, learnt, time);
    case 'start fresh session':
      if (attempt.stage === 'compacted') reportFailedStage(ports, 'compacted', 'second_overflow');
      return orReport(ports, attempt, () => startFreshSession(ports, overflow, learnt, 'fresh'));
    case 'try without history':
      return tryWithoutHistory(ports, overflow, learnt, time);
    case 'start bare session':
      return orReport(ports, attempt, () => startFreshSession(ports, overflow, learnt, 'bare'));
    case 'scrub message':
      return scrubMessage(ports, overflow, learnt.limitTokens);
    case 'remove turn':
      return refuseTurn(overflow);
    default:
      return giveUp(ports, overflow);
  }
}

/** Stage 1, and stage 2 at once if it fails or takes longer than a recovery may. */
async function compactOrStartFresh(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  { signal, deadline }: RecoveryTime,
): Promise<Recovery> {
  const { attempt } = overflow;
  const failed = deadline.aborted
    ? { reason: 'recovery_timeout', failed: undefined }
    : await compactForRetry(ports, overflow, learnt, signal);
  if (failed === undefined || (signal.aborted && !deadline.aborted)) return { kind: 'again' };
  // A summary that was never requested says nothing about the session: the session must not be lost over it.
  const { failure } = failed.failed ?? {};
  if (failure && wasNotAsked(failure)) return { kind: 'wait', failure };
  if (!STAGE_1_OVER.has(failed.reason) && fitsModel(ports, overflow)) return leaveUncompacted(overflow);
  reportFailedStage(ports, 'none', deadline.aborted ? 'recovery_timeout' : failed.reason);
  return orReport(ports, attempt, () => startFreshSession(ports, overflow, learnt, 'fresh'));
}

/** The cause of an unlisted refusal is unknown: the history is left only where the fixed parts alone are taken. */
async function tryWithoutHistory(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  { signal }: RecoveryTime,
): Promise<Recovery> {
  const { attempt, failure } = overflow;
  const verdict = await askFixedParts(ports, overflow, signal);
  if (verdict.kind === 'unclear') return { kind: 'wait', failure: verdict.failure };
  if (verdict.kind === 'refused') return concludeFixedParts(overflow, verdict.failure.reason);
  // An endpoint in trouble may have recovered in the meantime: check that before leaving a history.
  if (isEndpointTrouble(failure.reason) && !attempt.tried.includes(ASKED_AGAIN)) return askAgain(attempt);
  const spent = verdict.wasAsked ? 1 : 0;
  return orReport(ports, attempt, () => startFreshSession(ports, overflow, learnt, 'fresh', spent));
}

async function askAgain({ keys, entry, tried, write }: Attempt): Promise<Recovery> {
  await write('asked again', [['HSET', keys.turn(entry), 'tried', [...tried, ASKED_AGAIN].join(',')]]);
  return { kind: 'again' };
}

/** No chat is to blame, so none is changed; the operator is notified once for all of them. */
function concludeFixedParts({ attempt, failure }: Overflow, why: string): Recovery {
  const { reason } = failure;
  return {
    kind: 'conclude',
    conclusion: { outcome: 'failed', reason, parts: [attempt.texts.misconfigured] },
    commands: [
      alertCommand(attempt.keys, fixedPartsAlert(attempt, why, failure.status)),
      auditCommand(attempt, { event: 'context.gave-up', reason }),
    ],
  };
}

/** Records a stage that throws in the trace; rethrows, and the job runs again. */
async function orReport(ports: RecoverPorts, { stage }: Attempt, work: () => Promise<Recovery>): Promise<Recovery> {
  try {
    return await work();
  } catch (error) {
    reportFailedStage(ports, stage, error instanceof Error ? error.name : 'unknown');
    throw error;
  }
}

async function report({ instruments: { telemetry } }: RecoverPorts, { attempt, failure }: Overflow): Promise<void> {
  const { kind, observedTokens, limitTokens } = failure;
  const phase = failure.reason.startsWith('counted_') ? 'counted' : 'refused';
  const numbers = {
    ...(observedTokens !== undefined && { observedTokens }),
    ...(limitTokens !== undefined && { limitTokens }),
  };
  await attempt.write(`exceeded:${attempt.recoveries}`, [
    auditCommand(attempt, { event: 'context.exceeded', phase, kind, stage: attempt.stage, ...numbers }),
    ...(asksForBlame(failure) ? [['HSET', attempt.keys.turn(attempt.entry), BLAMED, 1] as const] : []),
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

/**
 * A smaller window that an error states is believed, unless it is nonsense; without numbers, what was sent sets the
 * window.
 */
function learn({ failure, limitTokens: knownTokens, sentTokens }: Overflow): LearntLimit {
  const stated = failure.limitTokens;
  if (stated !== undefined && stated >= LIMIT_TOKENS_MIN)
    return { limitTokens: Math.min(knownTokens, stated), isGuess: false };
  const isGuess = failure.reason === 'prompt_too_long' && stated === undefined && sentTokens >= GUESS_TOKENS_MIN;
  return { limitTokens: isGuess ? Math.min(knownTokens, Math.floor(sentTokens * GUESS_SHARE)) : knownTokens, isGuess };
}
