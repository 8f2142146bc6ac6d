import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** The first and the longest pause between probes while the breaker is open. Each pause is twice the previous one. */
export interface BreakerPauses {
  telegramPauseMs: number;
  telegramPauseMsMax: number;
}

/** The state of Telegram and of the breaker for its calls, by Redis' clock. Times are ms since the epoch. */
interface KnownState {
  nowMs: number;
  /** For how many ms nothing may be sent; 0 while the breaker is closed. */
  awayMs: number;
  /** The time at which the breaker opened; 0 while the breaker is closed. */
  sinceMs: number;
  /** The time of the last stored answer: to a send, an edit or a probe; 0 if there was none. */
  answeredMs: number;
}

/** The breaker opens after this many sends in a row without Telegram's own answer, even if Telegram answers other calls. */
const DOUBTS_MAX = 3;

type Reply = [nowMs: number, awayMs: number, sinceMs: number, answeredMs: number];

export type TelegramState = ReturnType<typeof telegramState>;

/**
 * The state of Telegram, which all processes share in Redis. Each process logs when the breaker opens and when it closes.
 *
 * Contract: no method rejects. While Redis cannot be reached, methods return the last state that this process read, and
 * `beginProbe` returns true.
 */
export function telegramState(redis: RedisClient, log: Logger, pauses: BreakerPauses) {
  const at = [keysOf(0).telegram];
  const script = <R>(name: string) => bindScript<R>(redis, `${import.meta.dirname}/${name}.lua`);
  const note = script<Reply>('note-word');
  const begin = script<0 | 1>('begin-telegram-probe');
  const end = script<Reply>('end-telegram-probe');
  const limits = [DOUBTS_MAX, pauses.telegramPauseMs, pauses.telegramPauseMsMax];
  let stateAtMs = Number.NEGATIVE_INFINITY;
  let state: KnownState = { nowMs: 0, awayMs: 0, sinceMs: 0, answeredMs: 0 };
  const update = async (reply: Promise<Reply>): Promise<KnownState> => {
    try {
      const [nowMs, awayMs, sinceMs, answeredMs] = await reply;
      if (state.awayMs === 0 && awayMs > 0) log.warn({ sinceMs }, 'Telegram does not answer: nothing is sent');
      if (state.awayMs > 0 && awayMs === 0) log.warn('Telegram answers again');
      state = { nowMs, awayMs, sinceMs, answeredMs };
      stateAtMs = performance.now();
    } catch (error) {
      log.debug({ err: error }, 'what is known of Telegram could not be read');
    }
    return state;
  };
  return {
    /** The last state that this process read. */
    seen: () => state,
    /** Reads the state from Redis, unless this process read less than `freshMs` ago that the breaker is closed. */
    look: async (freshMs = 0) =>
      state.awayMs === 0 && performance.now() - stateAtMs < freshMs
        ? state
        : await update(note(at, ['', '', ...limits])),
    /** Stores that Telegram confirmed a send or an edit. */
    confirmed: () => update(note(at, ['confirmed', '', ...limits])),
    /** Stores that a send ended without Telegram's own answer. */
    doubted: (why: string) => update(note(at, ['doubt', why, ...limits])),
    /** Takes, for `leaseMs`, the lease to probe. Returns false while another process probes or a pause between probes runs. */
    beginProbe: async (owner: string, leaseMs: number) => (await begin(at, [owner, leaseMs]).catch(() => 1)) === 1,
    /** Stores a probe's result and releases the lease. `why` is the failure, or empty if Telegram answered. */
    endProbe: (owner: string, why: string) => update(end(at, [owner, why, ...limits])),
    close: () => redis.disconnect(),
  };
}

/** The state of Telegram for the watchdog. Times are ms since the epoch, by Redis' clock. */
export interface TelegramRecord {
  /**
   * Set while Telegram does not answer, or answers other calls but no sends. `lastMs` is set if `DOUBTS_MAX` sends in a row got
   * no answer: the time of the last such send. If nobody sends after that, the end of the trouble stays unknown.
   */
  away?: { sinceMs: number; why: string; lastMs?: number };
}

/** Reads the state of Telegram. Rejects when Redis cannot be reached. */
export async function readTelegram(redis: RedisClient): Promise<TelegramRecord> {
  const fields = await redis.hgetall(keysOf(0).telegram);
  const { awaySinceMs, why = '', doubts = 0, doubtSinceMs, doubtMs, doubtWhy = '' } = fields;
  if (Number(doubts) >= DOUBTS_MAX && doubtSinceMs !== undefined)
    return { away: { sinceMs: Number(doubtSinceMs), why: doubtWhy, lastMs: Number(doubtMs) } };
  return awaySinceMs === undefined ? {} : { away: { sinceMs: Number(awaySinceMs), why } };
}

/** The open breaker of Telegram: the time at which the breaker opened, and the time of the next probe. */
type TelegramPause = Record<'sinceMs' | 'untilMs', number>;

/** Reads the breaker of Telegram; `undefined` while it is closed. Rejects when Redis cannot be reached. */
export async function readTelegramPause(redis: RedisClient): Promise<TelegramPause | undefined> {
  const [sinceMs, untilMs] = await redis.hmget(keysOf(0).telegram, 'awaySinceMs', 'untilMs');
  return sinceMs ? { sinceMs: Number(sinceMs), untilMs: Number(untilMs ?? 0) } : undefined;
}
