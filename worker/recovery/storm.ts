import type { RedisClient } from '../../shared/redis/connection.ts';
import { type StormLimits, stormState } from '../../shared/state/provider/provider.ts';
import { overflowStormAlert, overflowStormOver } from '../alerts/causes/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { Failure } from '../model/errors/failure.ts';

export const STORM_LIMITS: StormLimits = { stormChats: 5, stormWaitMs: 5_000, stormRestMs: 30_000 };

export type StormGuard = ReturnType<typeof createStormGuard>;

/** Whether the provider refused for its length a request that we had counted to fit. */
export function isRefusedForLength({ kind, reason }: Pick<Failure, 'reason'> & { kind: string }): boolean {
  return kind === 'token' && !reason.startsWith('counted_');
}

/**
 * Keeps a wrong window from costing every chat its session. When many chats of the installation are refused as too long
 * within minutes, although our own count said that they fit, one at a time is recovered as a probe and the others wait.
 * Answered probes let them continue; failed probes do not. A storm covers the whole installation.
 *
 * Contract: rejects when Redis cannot be reached. `enter` may be repeated, also by the probe itself; a probe whose
 * process dies is replaced after three minutes.
 */
export function createStormGuard(redis: RedisClient, limits: StormLimits) {
  const storm = stormState(redis, limits);
  return {
    /** Resolves to the failure that the message waits with, or to nothing when it may be recovered now. */
    async enter(attempt: Attempt): Promise<Failure | undefined> {
      const verdict = await storm.enter(attempt, JSON.stringify(overflowStormAlert(attempt)));
      if (verdict === 'go') return undefined;
      await attempt.write('storm', [attempt.turn.waits.enterStorm()]);
      if (verdict === 'probe') return undefined;
      return { kind: 'transient', reason: 'overflow_storm', retryAfterMs: limits.stormWaitMs };
    },
    /** Records how a message in a storm ended; does nothing for other messages. */
    async ended({ entry, turn }: Attempt, isAnswered: boolean): Promise<void> {
      if (turn.waits.isInStorm) await storm.endProbe(entry, isAnswered, JSON.stringify(overflowStormOver()));
    },
  };
}
