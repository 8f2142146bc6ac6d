import { sessionState } from '../../shared/state/session/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import { modelWindow } from '../lane/settings.ts';
import { type Room, roomOf, usableTokens } from '../model/count.ts';
import type { OpenedSession } from '../session/held-window.ts';
import type { Overflow, RecoverPorts, Recovery } from './effects.ts';
import { type LearntLimit, learnLimit } from './learnt-limit.ts';
import { type CompactionOutcome, compactSession, maskWithoutSummary } from './session-compaction.ts';
import { wasNotAsked } from './summarise.ts';

/** After this many compactions in vain another one would not help. */
export const VAIN_COMPACTIONS_MAX = 3;
/** After this many no compaction follows a reply any more; the rest is left for a call that needs the room. */
const VAIN_AFTER_REPLY_MAX = 2;

/**
 * Stage 1: compacts the session of a message that does not fit, and stores the stage with the result.
 */
export async function compactForRetry(
  ports: RecoverPorts,
  { attempt, opened }: Overflow,
  learnt: LearntLimit,
  signal: AbortSignal,
): Promise<CompactionOutcome | { ok: false; reason: 'refills_at_once' }> {
  if (attempt.vainCompactions >= VAIN_COMPACTIONS_MAX) return { ok: false, reason: 'refills_at_once' };
  const step = `recover:${attempt.recoveries}`;
  const effects = [...attempt.turn.enter('compacted'), ...learnLimit(attempt, ports.settings, learnt)];
  const room = roomOf(learnt.limitTokens, ports.settings);
  const subject = { attempt, opened, room, step, effects, isWaitedFor: true };
  const outcome = await compactSession(ports, subject, signal);
  if (outcome.ok || outcome.reason !== 'away' || wasNotAsked(outcome.failure)) return outcome;
  return (await maskWithoutSummary(ports, subject)) ? { ok: true } : outcome;
}

/** Why there is no compaction although nothing failed: another one would not help, either. */
export const STAGE_1_OVER: ReadonlySet<string> = new Set(['refills_at_once', 'nothing_to_compact', 'did_not_shrink']);

/**
 * Whether a request that we counted as too long may be sent as it is, where there is no summary of it: it exceeds the
 * chat's budget, and not what the model takes. Pure.
 */
export function fitsModel(
  { settings }: Pick<RecoverPorts, 'settings'>,
  { attempt, failure, opened, sentTokens, windowTokens }: Overflow,
): boolean {
  if (failure.reason !== 'counted_too_long' || opened.window.omitted > 0) return false;
  return sentTokens <= usableTokens(modelWindow(windowTokens, attempt.limit, settings), settings.maxOutputTokens);
}

/** The message is sent without a compaction; the next one is due after its reply. */
export async function leaveUncompacted({ attempt }: Overflow): Promise<Recovery> {
  await attempt.write(`recover:${attempt.recoveries}`, [
    ...attempt.turn.enter(attempt.stage),
    attempt.turn.leaveUncompacted(),
  ]);
  return { kind: 'again' };
}

/**
 * Prevention: compacts a session after a reply, while no user waits. `opened` is the window with the answer in it. A
 * failure does not matter here: the next message's own count triggers compaction again. Each try is counted before it
 * begins, so that a chat that always interrupts it costs a bounded number of calls.
 */
export async function compactAfterReply(
  ports: RecoverPorts,
  attempt: Attempt,
  opened: OpenedSession,
  room: Room,
  signal: AbortSignal,
): Promise<void> {
  if (attempt.vainCompactions >= VAIN_AFTER_REPLY_MAX) return;
  const state = sessionState(attempt.keys, attempt.session);
  await attempt.write('', [attempt.turn.markReplied(), state.setVainCompactions(attempt.vainCompactions + 1)]);
  const subject = { attempt, opened, room, step: 'compact-after-reply', effects: [], isWaitedFor: false };
  await compactSession(ports, subject, signal);
}
