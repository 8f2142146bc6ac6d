import { randomUUID } from 'node:crypto';
import { pause, type Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/log.ts';
import { runLoop } from '../base/loop.ts';
import type { BreakerPauses, TelegramState } from '../state/telegram/telegram.ts';
import type { Telegram } from './client.ts';
import { isUnanswered, type TelegramFailure, type TelegramResult } from './failure.ts';

/**
 * The state of the breaker, for code that sends.
 *
 * Contract: never rejects. While Redis cannot be reached, methods use the last state that this process read.
 */
export interface BreakerView {
  /**
   * The time for which nothing may be sent, in ms; 0 while Telegram answers. Reads the state from Redis, unless this process
   * learned less than `freshMs` ago (by default 100 ms) that Telegram answers.
   */
  awayMs(freshMs?: number): Promise<number>;
  /** `awayMs` as of the state that this process read last. A process reads the state about once a second. */
  seenAwayMs(): number;
  /** Whether Telegram answers. False while the breaker is open, true within a second of an answer; else a probe decides. */
  answersNow(): Promise<boolean>;
}

/** The breaker. A process that runs it also probes for the end of an outage. */
export interface TelegramBreaker extends BreakerView, Service {
  /** Stores that Telegram confirmed a message. Best effort; at most once a second, but always after a doubt or an outage. */
  noteConfirmed(): Promise<void>;
  /**
   * Notes that a call ended without Telegram's own answer. One such call does not prove an outage, so this method probes
   * Telegram, unless the breaker is open or another process probes. `isSend`: the call was a send or an edit of a message.
   */
  noteDoubt(failure: TelegramFailure, isSend: boolean): Promise<void>;
}

const FRESH_MS = 1_000;
/** Sends within this time share one read of the state while Telegram answers. */
const LOOK_FRESH_MS = 100;
/** A probe is due once no more than this remains of the pause. The same as `PROBE_SOON_MS` in `telegram.lua`. */
const PROBE_DUE_MS = 250;
const OTHER_PROBE_MS = 100;
const WHY_CHARS = 200;
const LEASE_GRACE_MS = 2_000;

export interface BreakerLimits extends BreakerPauses {
  /** How long a probe waits for its answer. */
  telegramProbeMs: number;
  /** How often a process reads the shared state. */
  telegramLookEveryMs: number;
}

/** Even the longest pause is short, so that sending resumes soon after Telegram answers again. */
export const BREAKER_LIMITS: BreakerLimits = {
  telegramPauseMs: 1_000,
  telegramPauseMsMax: 15_000,
  telegramProbeMs: 10_000,
  telegramLookEveryMs: 1_000,
};

/** Probes Telegram with `getMe`. `taken`: no probe, because another process probes or it is too early. */
type Probe = () => Promise<'answered' | 'silent' | 'taken'>;

/**
 * Starts the breaker of this process. All processes of the installation share its state in Redis. `state` needs a connection on
 * which commands fail at once; `stop` closes that connection.
 */
export function startTelegramBreaker(
  telegram: Pick<Telegram, 'getMe'>,
  state: TelegramState,
  limits: BreakerLimits,
  log: Logger,
): TelegramBreaker {
  const probe: Probe = async () => {
    const owner = randomUUID();
    if (!(await state.beginProbe(owner, limits.telegramProbeMs + LEASE_GRACE_MS))) return 'taken';
    const why = whySilent(await telegram.getMe(limits.telegramProbeMs));
    await state.endProbe(owner, why);
    return why === '' ? 'answered' : 'silent';
  };
  const loop = runLoop({
    name: 'telegram breaker',
    round: () => probeIfDue(state, probe, limits.telegramLookEveryMs),
    retryMs: limits.telegramLookEveryMs,
    onError: (error) => log.debug({ err: error }, 'Telegram could not be looked for'),
  });
  return {
    name: loop.name,
    awayMs: async (freshMs = LOOK_FRESH_MS) => (await state.look(freshMs)).awayMs,
    seenAwayMs: () => state.seen().awayMs,
    answersNow: () => answersNow(state, probe, limits.telegramProbeMs),
    ...createNotes(state, probe),
    async stop() {
      await loop.stop();
      state.close();
    },
  };
}

/** Probes Telegram if the breaker is open and a probe is due. Returns the wait before the next round. */
async function probeIfDue(state: TelegramState, probe: Probe, everyMs: number): Promise<number> {
  const { awayMs } = await state.look();
  if (awayMs === 0) return everyMs;
  if (awayMs > PROBE_DUE_MS) return Math.min(awayMs - PROBE_DUE_MS, everyMs);
  return (await probe()) === 'taken' ? OTHER_PROBE_MS : 0;
}

async function answersNow(state: TelegramState, probe: Probe, probeMs: number): Promise<boolean> {
  const untilMs = performance.now() + 2 * probeMs;
  while (performance.now() < untilMs) {
    const { nowMs, awayMs, answeredMs } = await state.look();
    if (awayMs > 0) return false;
    if (nowMs - answeredMs < FRESH_MS) return true;
    const result = await probe();
    if (result !== 'taken') return result === 'answered';
    await pause(OTHER_PROBE_MS);
  }
  return false;
}

/** The methods of the breaker that note how calls ended. */
function createNotes(state: TelegramState, probe: Probe): Pick<TelegramBreaker, 'noteConfirmed' | 'noteDoubt'> {
  let isInDoubt = false;
  let notedAtMs = Number.NEGATIVE_INFINITY;
  return {
    async noteConfirmed() {
      const isNews = isInDoubt || state.seen().awayMs > 0;
      if (!isNews && performance.now() - notedAtMs < FRESH_MS) return;
      [notedAtMs, isInDoubt] = [performance.now(), false];
      await state.confirmed();
    },
    async noteDoubt(failure, isSend) {
      isInDoubt = true;
      const { awayMs } = isSend ? await state.doubted(wordsOf(failure)) : state.seen();
      if (awayMs === 0) await probe();
    },
  };
}

/** The failure of a call without Telegram's own answer; empty if Telegram answered, even with a refusal. */
function whySilent(result: TelegramResult<unknown>): string {
  return result.ok || !isUnanswered(result.failure) ? '' : wordsOf(result.failure);
}

function wordsOf({ kind, description }: TelegramFailure): string {
  return `${kind}: ${description}`.slice(0, WHY_CHARS);
}
