import { traceIdOf } from '../../base/telemetry.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, INBOUND_GROUP, type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { msOf } from '../../redis/stream.ts';

/** Counts of messages that have waited for too long, and of their chats. */
export interface Overdue {
  messages: number;
  chats: number;
  oldest?: { entry: EntryId; chat: ChatKey; traceId: string; acceptedMs: number };
}

/** Times that remain right even if Redis' clock steps. */
export interface SteadyTimes {
  /** Corrects `ms` for forward steps of the clock; if `ms` lies in the future, returns when this process first read `ms`. */
  seen(name: string, ms: number): number;
  /** The time that Redis' clock showed `ms` milliseconds ago, even if it has stepped since. */
  ago(ms: number): number;
}

/**
 * Counts the overdue messages in all lanes of a shard; `resting` counts those that wait for the end of an operator's pause.
 * Contract: rejects when Redis cannot be reached.
 */
export type ReadOverdue = (
  keys: Keys,
  look: SteadyTimes,
  nowMs: number,
) => Promise<Record<'overdue' | 'resting', Overdue>>;

type Tally = [messages: number, chats: number, entry: EntryId | '', chat: ChatKey, traceparent: string];
type FutureMessage = [entry: EntryId, chat: ChatKey, traceparent: string, messages: number, isPaused: 0 | 1];
type Slice = [cursor: string, overdue: Tally, resting: Tally, future: FutureMessage[]];

/** How many lanes one script call looks at. Such a call blocks Redis for a few ms. */
const LANES_AT_ONCE = 500;

/**
 * Creates a reader of messages that are overdue after `unansweredMs`. A message whose acceptance lies in the future, because
 * the clock of Redis stepped back, is overdue once the watchdog has seen the message for `unansweredMs`.
 */
export function createOverdueReader(redis: RedisClient, unansweredMs: number): ReadOverdue {
  const read = bindScript<Slice>(redis, `${import.meta.dirname}/overdue.lua`);
  return async ({ inbound, lanes, absent, paused, resumed, lanePrefix, turnPrefix }, look, nowMs) => {
    const result = { overdue: { messages: 0, chats: 0 }, resting: { messages: 0, chats: 0 } };
    const fixed = [LANES_AT_ONCE, look.ago(unansweredMs), nowMs, lanePrefix, turnPrefix, 'replied', INBOUND_GROUP];
    let cursor = '0';
    do {
      const [next, overdue, resting, future] = await read(
        [inbound, lanes, absent, paused, resumed],
        [cursor, ...fixed],
      );
      const seenMs = (entry: EntryId | '') => (entry === '' ? 0 : look.seen(`${inbound} ${entry}`, msOf(entry)));
      add(result.overdue, overdue, seenMs(overdue[2]));
      add(result.resting, resting, seenMs(resting[2]));
      for (const [entry, chat, traceparent, messages, isPaused] of future) {
        const acceptedMs = seenMs(entry);
        if (nowMs - acceptedMs < unansweredMs) continue;
        add(isPaused ? result.resting : result.overdue, [messages, 1, entry, chat, traceparent], acceptedMs);
      }
      cursor = next;
    } while (cursor !== '0');
    return result;
  };
}

function add(to: Overdue, [messages, chats, entry, chat, traceparent]: Tally, acceptedMs: number): void {
  to.messages += messages;
  to.chats += chats;
  if (entry === '' || acceptedMs >= (to.oldest?.acceptedMs ?? Number.POSITIVE_INFINITY)) return;
  to.oldest = { entry, chat, traceId: traceIdOf(traceparent), acceptedMs };
}

/** Creates a counter of the finished answers that wait for their delivery, among the oldest messages of each shard. */
export function createAnswerCounter(redis: RedisClient, shards: number): () => Promise<WaitingAnswers> {
  const count = bindScript<[answers: number, chats: number]>(redis, `${import.meta.dirname}/waiting-answers.lua`);
  return async () => {
    const all = { answers: 0, chats: 0 };
    for (let shard = 0; shard < shards; shard++) {
      const { inbound, absent, turnPrefix } = keysOf(shard);
      const [answers, chats] = await count([inbound, absent], [turnPrefix, SAMPLE_MAX]);
      all.answers += answers;
      all.chats += chats;
    }
    return all;
  };
}

/** Counts of finished answers that wait for their delivery, and of their chats. */
export interface WaitingAnswers {
  answers: number;
  chats: number;
}

/** Sizes of a shard's queues. */
export interface LaneSizes {
  nowMs: number;
  /** The number of lanes with messages. */
  lanes: number;
  /** The number of messages in the longest lane. */
  deepest: number;
  /** The number of alerts that are not in the book of incidents yet. */
  alerts: number;
}

/** How many lanes, or messages, one script call looks at. */
const SAMPLE_MAX = 5_000;

/** Returns a function that measures a shard's lanes. Contract: it rejects when Redis cannot be reached. */
export function createLaneMeasure(redis: RedisClient): (keys: Keys) => Promise<LaneSizes> {
  const measure = bindScript<[number, number, number, number]>(redis, `${import.meta.dirname}/measure-lanes.lua`);
  return async (keys) => {
    const at = [keys.lanes, keys.alerts, keys.absent];
    const [nowMs, lanes, deepest, alerts] = await measure(at, [keys.lanePrefix, SAMPLE_MAX]);
    return { nowMs, lanes, deepest, alerts };
  };
}

/** Counts a shard's messages that have no outcome yet. Rejects when Redis cannot be reached. */
export function countUnanswered(redis: RedisClient, keys: Keys): Promise<number> {
  return redis.xlen(keys.inbound);
}
