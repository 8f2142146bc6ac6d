import type { Attempt } from '../../../worker/lane/attempt.ts';
import type { Usage } from '../../../worker/model/port.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';
import type { Change } from '../change.ts';
import { PER_DOLLAR, periodAt } from './limit.ts';

/** What the calls for a chat came to. */
export interface Used {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** Without the calls whose model has no known price. */
  dollars: number;
  unpricedCalls: number;
}

const DAY_MS = 24 * 3600_000;
const KEEP_DAYS = 40;
const KEEP_SECONDS = KEEP_DAYS * 24 * 3600;

/** Books a call to a model for its chat; without `dollars` its price is not known. */
export function bookUsage(
  attempt: Pick<Attempt, 'keys' | 'home' | 'nowMs'>,
  usage: Usage,
  dollars: number | undefined,
): Change[] {
  const key = attempt.keys.usage(periodAt('day', attempt.nowMs()), attempt.home);
  return [
    ['HINCRBY', key, 'calls', 1],
    ['HINCRBY', key, 'input', usage.inputTokens],
    ['HINCRBY', key, 'output', usage.outputTokens],
    dollars === undefined
      ? ['HINCRBY', key, 'unpriced', 1]
      : ['HINCRBY', key, 'cost', Math.round(dollars * PER_DOLLAR)],
    ['EXPIRE', key, KEEP_SECONDS],
  ];
}

export type UsageBook = ReturnType<typeof createUsageBook>;

/** What the calls for each chat of a shard came to, by day. Each method rejects when Redis cannot be reached. */
export function createUsageBook(redis: RedisClient, keys: Keys) {
  return {
    /** The newest days, today first; days are days of UTC. */
    async ofDays(chat: ChatKey, days: number, nowMs: number): Promise<Used[]> {
      return Promise.all(
        newestDays(days, nowMs).map(async (day) => usedOf(await redis.hgetall(keys.usage(day, chat)))),
      );
    },
    /** Erases what is booked for a chat. */
    async erase(chat: ChatKey, nowMs: number): Promise<void> {
      // A day more, for a clock that was put back.
      for (const day of newestDays(KEEP_DAYS + 1, nowMs)) await redis.unlink(keys.usage(day, chat));
    },
  };
}

function usedOf(fields: Readonly<Record<string, string>>): Used {
  const count = (name: string) => Number(fields[name] ?? 0);
  return {
    calls: count('calls'),
    inputTokens: count('input'),
    outputTokens: count('output'),
    dollars: count('cost') / PER_DOLLAR,
    unpricedCalls: count('unpriced'),
  };
}

/** Days of UTC, today first. */
function newestDays(days: number, nowMs: number): string[] {
  return Array.from({ length: days }, (_, ago) => periodAt('day', nowMs - ago * DAY_MS));
}
