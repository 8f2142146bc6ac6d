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
  /** The same of the persons of a group, without the calls before version 0.4. */
  shares: readonly Share[];
}

/** What the messages of a person of a group came to. */
export interface Share {
  /** The person's id. */
  person: string;
  /** As the group last saw it; not plain yet. */
  name: string;
  dollars: number;
}

const DAY_MS = 24 * 3600_000;
const KEEP_DAYS = 40;
const KEEP_SECONDS = KEEP_DAYS * 24 * 3600;
const COST_OF = 'cost:';
const NAME_OF = 'name:';

/** Books a call to a model for its chat, and in a group for who asked; without `dollars` its price is not known. */
export function bookUsage(
  attempt: Pick<Attempt, 'keys' | 'home' | 'nowMs' | 'message'>,
  usage: Usage,
  dollars: number | undefined,
): Change[] {
  const key = attempt.keys.usage(periodAt('day', attempt.nowMs()), attempt.home);
  return [
    ['HINCRBY', key, 'calls', 1],
    ['HINCRBY', key, 'input', usage.inputTokens],
    ['HINCRBY', key, 'output', usage.outputTokens],
    ...(dollars === undefined ? [['HINCRBY', key, 'unpriced', 1] as const] : bookCost(key, attempt, dollars)),
    ['EXPIRE', key, KEEP_SECONDS],
  ];
}

function bookCost(key: string, { message }: Pick<Attempt, 'message'>, dollars: number): Change[] {
  const cost = Math.round(dollars * PER_DOLLAR);
  const whole: Change = ['HINCRBY', key, 'cost', cost];
  if (!message.ok || message.value.chatType === 'private') return [whole];
  const { id, name = '' } = message.value.from;
  return [whole, ['HINCRBY', key, `${COST_OF}${id}`, cost], ['HSET', key, `${NAME_OF}${id}`, name]];
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
    shares: Object.keys(fields).flatMap((field) => {
      if (!field.startsWith(COST_OF)) return [];
      const person = field.slice(COST_OF.length);
      return [{ person, name: fields[`${NAME_OF}${person}`] ?? '', dollars: count(field) / PER_DOLLAR }];
    }),
  };
}

/** Days of UTC, today first. */
function newestDays(days: number, nowMs: number): string[] {
  return Array.from({ length: days }, (_, ago) => periodAt('day', nowMs - ago * DAY_MS));
}
