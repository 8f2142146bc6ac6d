import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { overflowStormAlert, overflowStormOver } from '../alerts/messages.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { Failure } from '../model/errors/failure.ts';

/** When many overflows are a storm, and how the gateway gets through it. */
export interface StormLimits {
  /** This many chats within five minutes. */
  stormChats: number;
  /** How long a chat waits before it asks again whether it may continue. */
  stormWaitMs: number;
  /** How long no chat is tried after a probe that was not answered; doubles, up to five minutes. */
  stormRestMs: number;
}

export const STORM_LIMITS: StormLimits = { stormChats: 5, stormWaitMs: 5_000, stormRestMs: 30_000 };

const WITHIN_MS = 300_000;
const PROBE_MS = 180_000;
const PROBES_MIN = 2;
const CALM_MS = 600_000;
const REST_MS_MAX = 300_000;

/**
 * Keeps a wrong window from costing every chat its session. When many chats of the installation are refused as too long
 * within minutes, although our own count said that they fit, one at a time is recovered as a probe and the others wait.
 * Answered probes let them continue; failed probes do not.
 *
 * Contract: rejects when Redis cannot be reached. `enter` may be repeated, also by the probe itself; a probe whose
 * process dies is replaced after three minutes.
 */
export interface StormGuard {
  /** Resolves to the failure that the message waits with, or to nothing when it may be recovered now. */
  enter(attempt: Attempt): Promise<Failure | undefined>;
  /** Records how a message in a storm ended; does nothing for other messages. */
  ended(attempt: Attempt, isAnswered: boolean): Promise<void>;
}

/** Whether the provider refused for its length a request that we had counted to fit. */
export function isRefusedForLength({ kind, reason }: Pick<Failure, 'reason'> & { kind: string }): boolean {
  return kind === 'token' && !reason.startsWith('counted_');
}

/** Binds the guard to a connection. A storm covers the whole installation. */
export function createStormGuard(redis: RedisClient, limits: StormLimits): StormGuard {
  const keys: Keys = keysOf(0);
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const enter = script<'go' | 'probe' | 'wait'>('enter-storm');
  const endProbe = script<0 | 1>('end-probe');
  return {
    async enter(attempt) {
      const alert = JSON.stringify(overflowStormAlert(attempt));
      const args = [attempt.chat, attempt.entry, WITHIN_MS, limits.stormChats, PROBE_MS, alert];
      const verdict = await enter([keys.overflows, keys.storm, keys.alerts], args);
      if (verdict === 'go') return undefined;
      await attempt.write('storm', [attempt.turn.waits.enterStorm()]);
      if (verdict === 'probe') return undefined;
      return { kind: 'transient', reason: 'overflow_storm', retryAfterMs: limits.stormWaitMs };
    },
    async ended(attempt, isAnswered) {
      if (!attempt.turn.waits.isInStorm) return;
      const { stormRestMs } = limits;
      const over = JSON.stringify(overflowStormOver());
      const args = [attempt.entry, isAnswered ? '1' : '', PROBES_MIN, CALM_MS, stormRestMs, REST_MS_MAX, over];
      await endProbe([keys.storm, keys.alerts], args);
    },
  };
}
