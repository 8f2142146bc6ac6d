import { sessionState } from '../../shared/state/session/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { modelWindow } from '../lane/settings.ts';
import { failed } from '../lane/verdict.ts';
import { roomOf } from '../model/count.ts';
import { type FailureKind, type FailureReason, isOfAccount } from '../model/errors/failure.ts';
import {
  type Overflow,
  type RecoverPorts,
  type Recovery,
  type RecoveryTime,
  reportFailedStage,
  takesFixedPartsOf,
} from './effects.ts';
import { type LearntLimit, limitFrom } from './learnt-limit.ts';
import { leaveOutTools, lowerOutput, raiseOutput, tryAsCounted } from './output.ts';
import { asksForBlame, isOfSize, nextStep, POLICY, type Step } from './policy.ts';
import { dropThinking, scrubLargest, scrubMedia, scrubMessage, scrubResults } from './scrub.ts';
import { isAloneTooLarge, isLarge, shortenMessage } from './shorten.ts';
import { compactForRetry, fitsModel, leaveUncompacted, STAGE_1_OVER } from './stage-1.ts';
import { removeTurn, startFreshSession } from './stage-2.ts';
import { wasNotAsked } from './summarise.ts';

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
    tried: attempt.refusalsInRow > 0 ? [...attempt.turn.tried, 'refusal'] : attempt.turn.tried,
  });
  await report(ports, overflow);
  const modelTokens = modelWindow(overflow.windowTokens, attempt.limit, ports.settings);
  const learnt = limitFrom(overflow, modelTokens, ports.settings.statedWindowTokens);
  await reportContradiction(ports, attempt, learnt);
  if (failure.kind === 'token' && !learnt.isGuess && overflow.fixedTokens > learnt.limitTokens - ANSWER_TOKENS_MIN) {
    // If our count is right, nothing that a chat could give up would help: the endpoint knows.
    const verdict = await takesFixedPartsOf(ports, overflow, time.signal);
    if (verdict.kind === 'refused') return concludeFixedParts(overflow, verdict.failure.reason);
    if (verdict.kind === 'unclear') return { kind: 'wait', failure: verdict.failure };
  }
  const lighter = failure.kind === 'token' && (await lightenAlone(ports, overflow, learnt, time));
  if (lighter) return lighter;
  const withoutTools =
    failure.tool === undefined ? undefined : await leaveOutTools(ports, overflow, failure.tool, time);
  if (withoutTools) return withoutTools;
  const withoutResults = step === 'try without history' && (await scrubResults(ports, overflow));
  if (withoutResults) return withoutResults;
  const taken = await takeOwn(ports, overflow, step, learnt);
  if (taken) return taken;
  const other = taken === false ? POLICY[attempt.stage][failure.kind] : step;
  return take(ports, overflow, other, learnt, time);
}

async function reportContradiction(
  { settings: { modelName, statedWindowTokens = 0 }, observability }: RecoverPorts,
  attempt: Attempt,
  { contradictingTokens }: LearntLimit,
): Promise<void> {
  if (contradictingTokens === undefined) return;
  const about = { model: modelName, statedTokens: statedWindowTokens, takenTokens: contradictingTokens };
  await commit(observability, attempt, {
    step: `window:${contradictingTokens}`,
    events: [{ event: 'window.contradicted', ...about }],
  });
}

/** The newest message is asked first: where it is too large even alone, the conversation is not what has to go. */
async function lightenAlone(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  { signal }: RecoveryTime,
): Promise<Recovery | undefined> {
  const { usableTokens } = roomOf(learnt.limitTokens, ports.settings);
  if (!isAloneTooLarge(overflow, usableTokens)) return undefined;
  return (await tryAsCounted(overflow, usableTokens, signal)) ?? shortenMessage(ports, overflow, learnt);
}

/** A session is left for its size only where the endpoint's own count and a shorter message cannot spare it. */
async function leaveForSize(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  { signal }: RecoveryTime,
): Promise<Recovery> {
  const { usableTokens } = roomOf(learnt.limitTokens, ports.settings);
  const asCounted = await tryAsCounted(overflow, usableTokens, signal);
  if (asCounted) return asCounted;
  const shorter = isLarge(overflow, usableTokens) ? await shortenMessage(ports, overflow, learnt) : undefined;
  return shorter ?? orReport(ports, overflow.attempt, () => startFreshSession(ports, overflow, learnt, 'fresh'));
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
      if (isOfSize(overflow.failure.kind)) return leaveForSize(ports, overflow, learnt, time);
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
  time: RecoveryTime,
): Promise<Recovery> {
  const { signal, deadline } = time;
  const outcome = deadline.aborted
    ? { ok: false as const, reason: 'recovery_timeout' as const }
    : await compactForRetry(ports, overflow, learnt, signal);
  if (outcome.ok || (signal.aborted && !deadline.aborted)) return { kind: 'again' };
  // A summary that was never requested says nothing about the session: the session must not be lost over it.
  const failure = 'failure' in outcome ? outcome.failure : undefined;
  if (failure && wasNotAsked(failure)) return { kind: 'wait', failure };
  if (!STAGE_1_OVER.has(outcome.reason) && fitsModel(ports, overflow)) return leaveUncompacted(overflow);
  if (failure && (isOfAccount(failure.reason) || failure.reason === 'permission'))
    return concludeAccount(overflow, failure.reason);
  reportFailedStage(ports, 'none', deadline.aborted ? 'recovery_timeout' : outcome.reason);
  return leaveForSize(ports, overflow, learnt, time);
}

/**
 * The cause of an unlisted refusal is unknown. The history is left only where the fixed parts alone are taken, and the
 * whole request is refused once more after that: an endpoint in trouble may have recovered in the meantime. It is never
 * left where credit, key or rights are what the refusal names.
 */
async function tryWithoutHistory(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  { signal }: RecoveryTime,
): Promise<Recovery> {
  const { attempt, failure } = overflow;
  const verdict = await takesFixedPartsOf(ports, overflow, signal);
  if (verdict.kind === 'unclear') return { kind: 'wait', failure: verdict.failure };
  if (verdict.kind === 'refused') return concludeFixedParts(overflow, verdict.failure.reason);
  if (!attempt.turn.tried.includes(ASKED_AGAIN)) return askAgain(attempt);
  if (isOfAccount(failure.reason)) return giveUp(ports, overflow);
  const spent = verdict.wasAsked ? 1 : 0;
  return orReport(ports, attempt, () => startFreshSession(ports, overflow, learnt, 'fresh', spent));
}

async function askAgain({ turn, write }: Attempt): Promise<Recovery> {
  await write('asked again', [turn.noteTried(ASKED_AGAIN), turn.freeAttempt()]);
  return { kind: 'again' };
}

/** No chat is to blame, so none is changed; the operator is notified once for all of them. */
function concludeFixedParts({ attempt, failure }: Overflow, why: string): Recovery {
  const { reason } = failure;
  return {
    kind: 'conclude',
    conclusion: { outcome: 'failed', reason, parts: [attempt.texts.misconfigured] },
    changes: [],
    events: [
      { event: 'fixed-parts.refused', why, status: failure.status },
      { event: 'context.gave-up', reason },
    ],
  };
}

/** Nobody can be asked for a summary until the operator has acted: that says nothing about the conversation, which stays. */
function concludeAccount({ attempt }: Overflow, reason: FailureReason): Recovery {
  return failed(reason, attempt.texts.misconfigured, 'the summary of a conversation that is too long');
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

async function report({ observability }: RecoverPorts, { attempt, failure }: Overflow): Promise<void> {
  const { kind, reason, observedTokens, limitTokens } = failure;
  const { recoveries, stage, turn } = attempt;
  const phase = reason.startsWith('counted_') ? 'counted' : 'refused';
  const numbers = {
    ...(observedTokens !== undefined && { observedTokens }),
    ...(limitTokens !== undefined && { limitTokens }),
  };
  await commit(observability, attempt, {
    step: `exceeded:${recoveries}`,
    changes: asksForBlame(failure) ? [turn.blame()] : [],
    events: [{ event: 'context.exceeded', phase, kind, stage, reason, ...numbers }],
  });
}

/** The notice to the user, by the final failure. */
const NOTICE_OF: Readonly<Partial<Record<FailureKind, 'notTaken' | 'declined' | 'endlessThought'>>> = {
  media: 'notTaken',
  poison: 'notTaken',
  unknown: 'notTaken',
  refusal: 'declined',
  output: 'endlessThought',
};

/**
 * Nothing more can be done for this message; the chat itself stays usable. A message that is to blame is removed from
 * its conversation, or every later message would fail with it.
 */
export function giveUp(ports: RecoverPorts, { attempt, failure }: Overflow): Recovery {
  reportFailedStage(ports, attempt.stage, failure.reason);
  const isGuilty = asksForBlame(failure);
  const fault = failure.kind === 'output' ? 'output' : isGuilty ? 'message' : 'size';
  return {
    kind: 'conclude',
    conclusion: {
      outcome: 'failed',
      reason: failure.reason,
      parts: [attempt.texts[NOTICE_OF[failure.kind] ?? 'gaveUp']],
    },
    // During a trial, the move back removes the message, however it ended.
    changes: isGuilty && attempt.trial === undefined ? removeTurn(attempt) : [],
    events: [
      { event: 'message.gave-up', reason: failure.reason, fault },
      { event: 'context.gave-up', reason: failure.reason },
    ],
  };
}

/**
 * The model declined: the whole turn is removed, calls and results included, since each of them would be declined
 * again.
 */
export function refuseTurn({ attempt, failure }: Overflow): Recovery {
  return {
    kind: 'conclude',
    conclusion: { outcome: 'failed', reason: failure.reason, parts: [attempt.texts.declined] },
    changes: [...removeTurn(attempt), sessionState(attempt.keys, attempt.session).countRefusal()],
    events: [{ event: 'message.failed', reason: failure.reason, detail: 'the model declined the message' }],
  };
}
