import { randomUUID } from 'node:crypto';
import { pause, type Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/log.ts';
import { runLoop } from '../base/loop.ts';
import type { BreakerPauses, TelegramState } from '../state/telegram/telegram.ts';
import type { Telegram } from './client.ts';
import { isWordless, type TelegramFailure, type TelegramResult } from './failure.ts';

/**
 * What the installation knows of whether Telegram answers, for those who would send something.
 *
 * Contract: never rejects. While Redis cannot be reached, what this process saw last holds.
 */
export interface BreakerView {
  /**
   * How long nothing may be sent, in ms; 0 while Telegram answers. That it answers is as it was `freshMs` ago at most,
   * default a tenth of a second; that it is away is so now.
   */
  awayMs(freshMs?: number): Promise<number>;
  /** The same as this process saw it last, a second ago at most. */
  seenAwayMs(): number;
  /** Whether Telegram has answered within the last second; asks it something harmless where that is not known. */
  answersNow(): Promise<boolean>;
}

/** The breaker itself: the process that runs it also looks for the end of an outage. */
export interface TelegramBreaker extends BreakerView, Service {
  /** A message was confirmed: Telegram is there. Best effort, at most once a second as long as nothing was in doubt. */
  confirmed(): Promise<void>;
  /**
   * A call ended without Telegram's word. That is one witness: Telegram is asked once more, by one process at a time,
   * before this resolves. `isSend`: it should have shown something in a chat.
   */
  doubted(failure: TelegramFailure, isSend: boolean): Promise<void>;
}

const FRESH_MS = 1_000;
/** What is sent at the same time looks once. */
const LOOK_FRESH_MS = 100;
/** As in `telegram.lua`: what is left of a pause whose probe is due. */
const PROBE_DUE_MS = 250;
const OTHER_PROBE_MS = 100;
const WHY_CHARS = 200;
const LEASE_GRACE_MS = 2_000;

export interface BreakerLimits extends BreakerPauses {
  /** How long a probe waits for its answer. */
  telegramProbeMs: number;
  /** How often a process looks at what the others know. */
  telegramLookEveryMs: number;
}

/** A backlog must drain within a minute after Telegram is back, whatever its last probe met. */
export const BREAKER_LIMITS: BreakerLimits = {
  telegramPauseMs: 1_000,
  telegramPauseMsMax: 15_000,
  telegramProbeMs: 10_000,
  telegramLookEveryMs: 1_000,
};

/** Asks Telegram something harmless, unless another process does. */
type Probe = () => Promise<'answered' | 'silent' | 'taken'>;

/**
 * One breaker for the installation: its state is in Redis, and every process of it reads and writes the same. `state` uses
 * a connection that fails at once, and is closed on stop.
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
    round: () => lookForIt(state, probe, limits.telegramLookEveryMs),
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

/** A round of every process: one of them asks a Telegram that is away whether it is back. Returns the wait, in ms. */
async function lookForIt(state: TelegramState, probe: Probe, everyMs: number): Promise<number> {
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
    const found = await probe();
    if (found !== 'taken') return found === 'answered';
    await pause(OTHER_PROBE_MS);
  }
  return false;
}

/** Notes how calls end. */
function createNotes(state: TelegramState, probe: Probe): Pick<TelegramBreaker, 'confirmed' | 'doubted'> {
  let isInDoubt = false;
  let notedAtMs = Number.NEGATIVE_INFINITY;
  return {
    async confirmed() {
      const isNews = isInDoubt || state.seen().awayMs > 0;
      if (!isNews && performance.now() - notedAtMs < FRESH_MS) return;
      [notedAtMs, isInDoubt] = [performance.now(), false];
      await state.confirmed();
    },
    async doubted(failure, isSend) {
      isInDoubt = true;
      const { awayMs } = isSend ? await state.doubted(wordsOf(failure)) : state.seen();
      if (awayMs === 0) await probe();
    },
  };
}

/** Empty when Telegram answered, if only with a refusal. */
function whySilent(asked: TelegramResult<unknown>): string {
  return asked.ok || !isWordless(asked.failure) ? '' : wordsOf(asked.failure);
}

function wordsOf({ kind, description }: TelegramFailure): string {
  return `${kind}: ${description}`.slice(0, WHY_CHARS);
}
