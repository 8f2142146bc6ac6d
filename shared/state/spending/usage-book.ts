import { randomUUID } from 'node:crypto';
import type { Logger } from '../../base/log.ts';
import type { FailureReason } from '../../flow/failure.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { type Payer, PER_DOLLAR, periodAt } from './limit.ts';

/** Sums of the calls for a chat on one day. */
export interface DayUsage {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** The costs, without the calls of models whose price is unknown. */
  dollars: number;
  unpricedCalls: number;
  /** In a group, the costs by person; without calls from before version 0.4. */
  shares: readonly Share[];
}

/** The costs of one person's messages in a group. */
export interface Share {
  /** The person's id. */
  person: string;
  /** The person's name in the newest message, unescaped. */
  name: string;
  dollars: number;
}

const DAY_MS = 24 * 3600_000;
const KEEP_DAYS = 40;
const KEEP_SECONDS = KEEP_DAYS * 24 * 3600;
/** How long Redis remembers a booked call. A request whose reply was lost is sent again within seconds. */
const REPEAT_SECONDS = 300;
const COST_OF = 'cost:';
const NAME_OF = 'name:';

/** A model or transcriber call in the audit trail. */
export interface CallRecord extends Usage {
  event: 'model.answered' | 'model.failed';
  purpose: Purpose | 'transcription';
  model: string;
  /** The cost by the model's price at that time; absent without a known price. */
  dollars?: number;
  reason?: FailureReason;
  /** Whether the provider bills a failed call. */
  billed?: boolean;
}

/** Books a call for its payer. Contract: never rejects, so that a failed booking does not lose a paid answer. */
export type BookCall = (payer: Payer | undefined, call: CallRecord) => Promise<void>;

/**
 * Books the calls of a shard in the audit trail and, for calls with a payer, in the sums of the chat's day. `nowMs` is Redis'
 * clock. If the process dies before it books a call, only the limits on spending count that call.
 */
export function openAccount(redis: RedisClient, keys: Keys, nowMs: () => number, log: Logger): BookCall {
  const book = bindScript<0 | 1>(redis, `${import.meta.dirname}/book-call.lua`);
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

/** The amounts that a call adds to its chat's day; in a group also to the author's share. */
function sumsOf(call: CallRecord, person: number | undefined): (string | number)[] {
  const { event, billed, dollars, inputTokens, outputTokens } = call;
  const counts = ['calls', 1, 'input', inputTokens, 'output', outputTokens];
  if (event === 'model.failed' && billed !== true) return counts;
  if (dollars === undefined) return [...counts, 'unpriced', 1];
  const cost = Math.round(dollars * PER_DOLLAR);
  return [...counts, 'cost', cost, ...(person === undefined ? [] : [`${COST_OF}${person}`, cost])];
}

export type UsageBook = ReturnType<typeof createUsageBook>;

/** The sums of the calls for each chat of a shard, by day. Each method rejects when Redis cannot be reached. */
export function createUsageBook(redis: RedisClient, keys: Keys) {
  return {
    /** The usage of a chat on the newest days, today first. Days begin at midnight UTC. */
    async ofDays(chat: ChatKey, days: number, nowMs: number): Promise<DayUsage[]> {
      return Promise.all(
        newestDays(days, nowMs).map(async (day) => usedOf(await redis.hgetall(keys.usage(day, chat)))),
      );
    },
    /** Erases the sums of a chat. */
    async erase(chat: ChatKey, nowMs: number): Promise<void> {
      // Erase one more day, in case the clock stepped back.
      for (const day of newestDays(KEEP_DAYS + 1, nowMs)) await redis.unlink(keys.usage(day, chat));
    },
  };
}

function usedOf(fields: Readonly<Record<string, string>>): DayUsage {
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

/** The purpose of a call: an answer, a summary of a conversation, or a probe whether the endpoint works. */
export type Purpose = 'answer' | 'summary' | 'probe';

/**
 * The tokens that a call is billed for: the sum of its passes, if a tool of the provider made the model run several times.
 * The size of the conversation may differ: `conversationSize` returns it.
 */
export interface Usage {
  /** All input, including the parts read from the cache or written to it. */
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that was read from the cache. */
  cacheReadTokens: number;
  /** The part of the input that was written to the cache; absent if the endpoint does not state it. */
  cacheWriteTokens?: number;
  /** The part of the cache writes with a lifetime of one hour. */
  cacheWrite1hTokens?: number;
  /** The part of the output that is thinking; absent if the endpoint does not state it. */
  thinkingTokens?: number;
  /** Web searches by the provider, each for a fee; absent for none. */
  searches?: number;
  /** The passes of the model; `unstated` if there may have been several; absent if there was only one. */
  passes?: Passes | 'unstated';
}

/** Tokens of the first and the last pass of a call. */
export interface Passes {
  firstInputTokens: number;
  lastInputTokens: number;
  lastOutputTokens: number;
}
