import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { TurnTime } from '../turn/deadline.ts';
import { changeOutput, repeatCall, sendAsItIs, wait } from './ask-again.ts';
import { compactSession, maskForRetry, subjectOf } from './compact.ts';
import { useDefaultModel } from './default-model.ts';
import { type FailedCall, mayBeAtFault, reportFailedStage } from './effects.ts';
import { fail, refuseOverBudget } from './fail.ts';
import { excludeTools, takesFixedParts } from './fixed-parts.ts';
import { startFreshSession } from './fresh-session.ts';
import { leaveOut } from './leave-out.ts';
import { effectiveFailure, limitFromCall, observe } from './observe.ts';
import { decide, isOfSize, isOwnFinding } from './policy.ts';
import type { RecoveryState, Step } from './state.ts';
import { trimRound } from './trim.ts';

/** Whether to record the failure in the audit trail before this step. False for a repeat, a count, a wait or a spent budget. */
function needsReport(step: Step): boolean {
  if (step.do === 'ask') return step.what === 'fixed parts';
  return step.do !== 'repeat' && step.do !== 'wait' && step.do !== 'refuse';
}

/**
 * Recovers from a failed call: observes, lets `decide` choose a step, and carries the step out, until a step ends the
 * attempt. Each step that changes the request is stored in one fenced write with its effect, so a crash repeats no stored
 * step and skips none. Recovery has its own time limit; the turn's clock stops meanwhile.
 *
 * Contract: throws `FencedError`, or what Redis and the blob store throw.
 */
export async function recover(call: FailedCall, time: TurnTime): Promise<Verdict> {
  const { turn } = call;
  const startedMs = turn.elapsedMs();
  const leftMs = Math.max(0, call.turn.env.settings.RECOVERY_TIMEOUT_MS - turn.recoverySpentMs);
  return time.runRecovery(leftMs, async (signal, deadline) => {
    const verdict = await takeSteps(call, { signal, deadline });
    // If the attempt is interrupted, the next attempt gets the rest of the recovery time. If the process dies instead, the
    // next attempt gets the same time as this one, and this one counts as an attempt.
    if (signal.aborted && !deadline.aborted)
      await turn.write('', [turn.spendOnRecovery(turn.recoverySpentMs + turn.elapsedMs() - startedMs)]);
    return verdict;
  });
}

/** The time of a recovery. No summary begins after `deadline`. `signal` aborts at the deadline, or if the attempt must stop. */
interface RecoveryTime {
  signal: AbortSignal;
  deadline: AbortSignal;
}

async function takeSteps(failedCall: FailedCall, time: RecoveryTime): Promise<Verdict> {
  const { env } = failedCall.turn;
  const call = { ...failedCall, failure: effectiveFailure(failedCall) };
  let state = observe(env.settings, call);
  let hasReport = false;
  for (;;) {
    const step = decide(state, call.failure, env.settings);
    if (!hasReport && needsReport(step)) await reportFailure(call);
    hasReport ||= needsReport(step);
    const result = await carryOut({ ...call, tried: state.tried }, step, time).catch((error) => {
      if (needsReport(step)) reportFailedStage(env, state.stage, error instanceof Error ? error.name : 'unknown');
      throw error;
    });
    if ('kind' in result) return result;
    if (time.signal.aborted && !time.deadline.aborted) return { kind: 'again' };
    state = { ...state, ...result, evidence: { ...state.evidence, ...result.evidence } };
  }
}

/** The result of a step that does not end the attempt: a new observation, or a step that had nothing to do. */
type StateChange = Partial<Pick<RecoveryState, 'tried' | 'evidence'>>;

async function carryOut(call: FailedCall, step: Step, time: RecoveryTime): Promise<Verdict | StateChange> {
  switch (step.do) {
    case 'repeat':
      return repeatCall(call, step.delayMs);
    case 'ask':
      if (step.what === 'count') return { evidence: { count: (await call.countTokens(time.signal)) ?? 'unknown' } };
      return { evidence: { fixedParts: await takesFixedParts(call, time.signal) } };
    case 'wait':
      return wait(call, step);
    case 'send as it is':
      return sendAsItIs(call);
    case 'trim':
      return (await trimRound(call, step.tokens)) ?? { tried: [...call.tried, 'trim', 'trim'] };
    case 'compact':
      return compact(call, step.how, time);
    case 'fresh session':
      if (call.turn.stage === 'compacted' && isOfSize(call.failure))
        reportFailedStage(call.turn.env, 'compacted', 'second_overflow');
      return startFreshSession(call, step);
    case 'leave out':
      return (await leaveOut(call, step.what)) ?? { tried: [...call.tried, step.what] };
    case 'change output':
      return (await changeOutput(call)) ?? { tried: [...call.tried, 'output', 'output'] };
    case 'exclude tools':
      return (await excludeTools(call, step.named, time.signal)) ?? { evidence: { fixedParts: { kind: 'refused' } } };
    case 'use default model':
      return useDefaultModel(call);
    case 'fail':
      return fail(step.why ? { ...call, failure: step.why } : call, step.trouble);
    case 'refuse':
      return refuseOverBudget(call.turn, call.turn.env.settings, step.why);
  }
}

async function compact(call: FailedCall, how: 'summary' | 'mask', time: RecoveryTime): Promise<Verdict | StateChange> {
  if (how === 'mask') return (await maskForRetry(call)) ?? { tried: [...call.tried, 'mask'] };
  const { signal, deadline } = time;
  const timeout = { ok: false, reason: 'recovery_timeout' } as const;
  const startedMs = performance.now();
  const outcome = deadline.aborted ? timeout : await compactSession(subjectOf(call), signal);
  if (outcome.ok || (signal.aborted && !deadline.aborted)) return { kind: 'again' };
  const compaction = { ...(deadline.aborted ? timeout : outcome), tookMs: performance.now() - startedMs };
  reportFailedStage(call.turn.env, 'none', compaction.reason);
  return { tried: [...call.tried, 'summary'], evidence: { compaction } };
}

/**
 * Records a failure in the audit trail, and marks its message as suspect if the message may be the cause. Does nothing for
 * `transient` and `terminal` failures.
 */
async function reportFailure(call: FailedCall): Promise<void> {
  const { turn, failure } = call;
  const { kind, reason, observedTokens, limitTokens } = failure;
  if (kind === 'transient' || kind === 'terminal') return;
  const numbers = {
    ...(observedTokens !== undefined && { observedTokens }),
    ...(limitTokens !== undefined && { limitTokens }),
  };
  const phase = isOwnFinding(failure) ? 'counted' : 'refused';
  const { MODEL: model, CONTEXT_WINDOW_TOKENS: statedTokens = 0 } = turn.env.settings;
  const { contradictingTokens: takenTokens } = limitFromCall(turn.env.settings, call);
  if (takenTokens !== undefined)
    await commit(turn, {
      step: `window:${takenTokens}`,
      events: [{ event: 'window.contradicted', model, statedTokens, takenTokens }],
    });
  await commit(turn, {
    step: `exceeded:${turn.recoveries}`,
    changes: mayBeAtFault(failure) ? [turn.markSuspect()] : [],
    events: [{ event: 'context.exceeded', phase, kind, stage: turn.stage, reason, ...numbers }],
  });
}
