import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../../base/log.ts';
import type { FailureReason } from '../../flow/failure.ts';

import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { type Payer, PER_DOLLAR, periodAt } from './limit.ts';

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
/** A command whose reply was lost is repeated within seconds. */
const REPEAT_SECONDS = 300;
const COST_OF = 'cost:';
const NAME_OF = 'name:';

/** A call that was made, as the audit trail keeps it. */
export interface CallRecord extends Usage {
  event: 'model.answered' | 'model.failed';
  purpose: Purpose | 'transcription';
  model: string;
  /** By its price at that time; absent where none is known. */
  dollars?: number;
  /** Why there is no answer. */
  reason?: FailureReason;
  /** Whether the provider bills it although there is no answer. */
  billed?: boolean;
}

/** Books a call for its payer. Contract: never rejects, so that a failed booking does not lose a paid answer. */
export type BookCall = (payer: Payer | undefined, call: CallRecord) => Promise<void>;

/**
 * The account of all calls of a shard: the audit trail, and the sums of each chat by day. `nowMs` is Redis' clock. Of a call
 * whose process dies before it is booked, only the limits know; see `createBudget`.
 */
export function openAccount(redis: RedisClient, keys: Keys, nowMs: () => number, log: Logger): BookCall {
  const book = bindScript<0 | 1>(redis, join(import.meta.dirname, 'book-call.lua'));
  return async (payer, call) => {
    const { chat, entry, traceId, currentChat = chat, person, groupName } = payer ?? {};
    const atMs = nowMs();
    const record = JSON.stringify({ entry, chat, traceId, atMs, ...call });
    const day = currentChat === undefined ? [] : [keys.usage(periodAt('day', atMs), currentChat)];
    const name = groupName === undefined ? ['', ''] : [`${NAME_OF}${person}`, groupName];
    const sums = sumsOf(call, groupName === undefined ? undefined : person);
    const words = [REPEAT_SECONDS, call.event, record, KEEP_SECONDS, ...name, ...sums];
    await book([keys.booked(randomUUID()), keys.events, ...day], words).catch((error: Error) =>
      log.error({ err: error, chat, ...call }, 'a call could not be booked'),
    );
  };
}

/** What a call adds to its chat's day; in a group also to the share of who asked. */
function sumsOf(call: CallRecord, person: number | undefined): (string | number)[] {
  const { event, billed, dollars, inputTokens, outputTokens } = call;
  const counts = ['calls', 1, 'input', inputTokens, 'output', outputTokens];
  if (event === 'model.failed' && billed !== true) return counts;
  if (dollars === undefined) return [...counts, 'unpriced', 1];
  const cost = Math.round(dollars * PER_DOLLAR);
  return [...counts, 'cost', cost, ...(person === undefined ? [] : [`${COST_OF}${person}`, cost])];
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

/** The purpose of a call: an answer, a summary of a conversation, or a probe of what the endpoint takes. */
export type Purpose = 'answer' | 'summary' | 'probe';

/**
 * The bill of a call: the sum of its passes, where a tool of the provider made the model run several times. How large
 * the conversation was is another matter, see `conversationSize`.
 */
export interface Usage {
  /** All input, including what was read from the cache or written to it. */
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that was read from the cache. */
  cacheReadTokens: number;
  /** The part of the input that was written to the cache; absent where it is not stated. */
  cacheWriteTokens?: number;
  /** The part of the cache writes that is kept for an hour. */
  cacheWrite1hTokens?: number;
  /** The part of the output that is thinking; absent where it is not stated. */
  thinkingTokens?: number;
  /** Searches of the web that the provider made, each for a fee; absent for none. */
  searches?: number;
  /** The passes, or that there may be several and they are not stated; absent: the call was one pass. */
  passes?: Passes | 'unstated';
}

/** How much input the first and the last pass of a call had, and the last one's output, in tokens. */
export interface Passes {
  firstInputTokens: number;
  lastInputTokens: number;
  lastOutputTokens: number;
}
