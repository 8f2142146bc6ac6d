import { join } from 'node:path';
import type { Logger } from '../base/log.ts';
import type { RedisClient } from '../redis/connection.ts';
import type { Keys } from '../redis/keys.ts';
import { bindScript } from '../redis/script.ts';

export interface BreakerLimits {
  /** The first pause before Telegram is asked again; each further one is twice as long, up to the longest. */
  telegramPauseMs: number;
  telegramPauseMsMax: number;
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

/** What the installation knows of Telegram; see `telegram_state` in `telegram.lua`. Times are ms since the epoch, 0 is never. */
export interface KnownState {
  nowMs: number;
  /** How long nothing may be sent; 0 while Telegram answers. */
  awayMs: number;
  sinceMs: number;
  confirmedMs: number;
  answeredMs: number;
}

/**
 * The state of the breaker, in Redis: the same for every process.
 *
 * Contract: never rejects. While Redis cannot be reached, what this process saw last holds.
 */
export interface BreakerState {
  seen(): KnownState;
  look(): Promise<KnownState>;
  /** Telegram confirmed a message. */
  confirmed(): Promise<KnownState>;
  /** A send ended without Telegram's word. */
  doubted(why: string): Promise<KnownState>;
  /** Takes the lease of the one probe; false while another one holds it. */
  beginProbe(owner: string): Promise<boolean>;
  /** `why` is empty when Telegram answered. */
  endProbe(owner: string, why: string): Promise<KnownState>;
}

/** Sends in a row without Telegram's word, none confirmed in between, after which Telegram is away whatever it answers. */
const DOUBTS_MAX = 3;
const LEASE_GRACE_MS = 2_000;

type Reply = [nowMs: number, awayMs: number, sinceMs: number, confirmedMs: number, answeredMs: number];

/** Binds the state to a connection. A change of whether Telegram answers is logged, once in each process. */
export function createBreakerState(
  redis: RedisClient,
  keys: Keys,
  log: Logger,
  { telegramPauseMs, telegramPauseMsMax, telegramProbeMs }: BreakerLimits,
): BreakerState {
  const at = [keys.telegram];
  const script = <R>(name: string) => bindScript<R>(redis, join(import.meta.dirname, `${name}.lua`));
  const read = script<Reply>('look-at-telegram');
  const note = script<Reply>('note-word');
  const begin = script<0 | 1>('begin-telegram-probe');
  const end = script<Reply>('end-telegram-probe');
  const pauses = [DOUBTS_MAX, telegramPauseMs, telegramPauseMsMax];
  let seen: KnownState = { nowMs: 0, awayMs: 0, sinceMs: 0, confirmedMs: 0, answeredMs: 0 };
  const known = async (asked: Promise<Reply>): Promise<KnownState> => {
    try {
      const [nowMs, awayMs, sinceMs, confirmedMs, answeredMs] = await asked;
      if (seen.awayMs === 0 && awayMs > 0) log.warn({ sinceMs }, 'Telegram does not answer: nothing is sent');
      if (seen.awayMs > 0 && awayMs === 0) log.warn('Telegram answers again');
      seen = { nowMs, awayMs, sinceMs, confirmedMs, answeredMs };
    } catch (error) {
      log.debug({ err: error }, 'what is known of Telegram could not be read');
    }
    return seen;
  };
  return {
    seen: () => seen,
    look: () => known(read(at, [])),
    confirmed: () => known(note(at, ['confirmed', '', ...pauses])),
    doubted: (why) => known(note(at, ['doubt', why, ...pauses])),
    beginProbe: async (owner) => (await begin(at, [owner, telegramProbeMs + LEASE_GRACE_MS]).catch(() => 1)) === 1,
    endProbe: (owner, why) => known(end(at, [owner, why, ...pauses])),
  };
}

/** What is known of Telegram, for those who watch. Times are ms since the epoch, by Redis' clock. */
export interface TelegramRecord {
  /** Set while it does not answer. */
  away?: { sinceMs: number; why: string };
  /** When it last came back. */
  backMs?: number;
}

/** Reads what is known of Telegram. Rejects when Redis cannot be reached. */
export async function readTelegram(redis: RedisClient, keys: Keys): Promise<TelegramRecord> {
  const { awaySinceMs, why = '', backMs } = await redis.hgetall(keys.telegram);
  return {
    ...(awaySinceMs !== undefined && { away: { sinceMs: Number(awaySinceMs), why } }),
    ...(backMs !== undefined && { backMs: Number(backMs) }),
  };
}
