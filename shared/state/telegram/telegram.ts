import { join } from 'node:path';
import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** How long nobody asks Telegram after it was found away: twice as long each time, up to the longest. */
export interface BreakerPauses {
  telegramPauseMs: number;
  telegramPauseMsMax: number;
}

/** What the installation knows of Telegram; see `telegram_state` in `telegram.lua`. Times are ms since the epoch, 0 is never. */
interface KnownState {
  nowMs: number;
  /** How long nothing may be sent; 0 while Telegram answers. */
  awayMs: number;
  sinceMs: number;
  answeredMs: number;
}

/** Sends in a row without Telegram's word, none confirmed in between, after which Telegram is away whatever it answers. */
const DOUBTS_MAX = 3;

type Reply = [nowMs: number, awayMs: number, sinceMs: number, answeredMs: number];

export type TelegramState = ReturnType<typeof telegramState>;

/**
 * What is known of Telegram, the same for every process. A change of whether it answers is logged, once in each process.
 *
 * Contract: no method rejects. While Redis cannot be reached, what this process saw last holds.
 */
export function telegramState(redis: RedisClient, log: Logger, pauses: BreakerPauses) {
  const at = [keysOf(0).telegram];
  const script = <R>(name: string) => bindScript<R>(redis, join(import.meta.dirname, `${name}.lua`));
  const note = script<Reply>('note-word');
  const begin = script<0 | 1>('begin-telegram-probe');
  const end = script<Reply>('end-telegram-probe');
  const limits = [DOUBTS_MAX, pauses.telegramPauseMs, pauses.telegramPauseMsMax];
  let seenAtMs = Number.NEGATIVE_INFINITY;
  let seen: KnownState = { nowMs: 0, awayMs: 0, sinceMs: 0, answeredMs: 0 };
  const known = async (asked: Promise<Reply>): Promise<KnownState> => {
    try {
      const [nowMs, awayMs, sinceMs, answeredMs] = await asked;
      if (seen.awayMs === 0 && awayMs > 0) log.warn({ sinceMs }, 'Telegram does not answer: nothing is sent');
      if (seen.awayMs > 0 && awayMs === 0) log.warn('Telegram answers again');
      seen = { nowMs, awayMs, sinceMs, answeredMs };
      seenAtMs = performance.now();
    } catch (error) {
      log.debug({ err: error }, 'what is known of Telegram could not be read');
    }
    return seen;
  };
  return {
    seen: () => seen,
    /** That Telegram answers is not read again where it was seen within so long, in ms. */
    look: async (freshMs = 0) =>
      seen.awayMs === 0 && performance.now() - seenAtMs < freshMs ? seen : await known(note(at, ['', '', ...limits])),
    /** Telegram confirmed a message. */
    confirmed: () => known(note(at, ['confirmed', '', ...limits])),
    /** A send ended without Telegram's word. */
    doubted: (why: string) => known(note(at, ['doubt', why, ...limits])),
    /** Takes the lease of the one probe for so long; false while another one holds it. */
    beginProbe: async (owner: string, leaseMs: number) => (await begin(at, [owner, leaseMs]).catch(() => 1)) === 1,
    /** `why` is empty when Telegram answered. */
    endProbe: (owner: string, why: string) => known(end(at, [owner, why, ...limits])),
    close: () => redis.disconnect(),
  };
}

/** What is known of Telegram, for those who watch. Times are ms since the epoch, by Redis' clock. */
export interface TelegramRecord {
  /**
   * Set while it does not answer, or answers everything but sends. Then `lastMs` says when a send ended without its word
   * last: where nothing is sent any more, nobody knows whether that is over.
   */
  away?: { sinceMs: number; why: string; lastMs?: number };
}

/** Reads what is known of Telegram. Rejects when Redis cannot be reached. */
export async function readTelegram(redis: RedisClient): Promise<TelegramRecord> {
  const known = await redis.hgetall(keysOf(0).telegram);
  const { awaySinceMs, why = '', doubts = 0, doubtSinceMs, doubtMs, doubtWhy = '' } = known;
  if (Number(doubts) >= DOUBTS_MAX && doubtSinceMs !== undefined)
    return { away: { sinceMs: Number(doubtSinceMs), why: doubtWhy, lastMs: Number(doubtMs) } };
  return awaySinceMs === undefined ? {} : { away: { sinceMs: Number(awaySinceMs), why } };
}

/** The breaker of the installation while Telegram is away: since when, and when it is asked next. */
type TelegramPause = Record<'sinceMs' | 'untilMs', number>;

/** Reads it; `undefined` while Telegram answers. Rejects when Redis cannot be reached. */
export async function readTelegramPause(redis: RedisClient): Promise<TelegramPause | undefined> {
  const [sinceMs, untilMs] = await redis.hmget(keysOf(0).telegram, 'awaySinceMs', 'untilMs');
  return sinceMs ? { sinceMs: Number(sinceMs), untilMs: Number(untilMs ?? 0) } : undefined;
}
