import { join } from 'node:path';
import { traceIdOf } from '../../base/telemetry.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, INBOUND_GROUP, type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { msOf } from '../../redis/stream.ts';

/** Messages that have waited for too long, and their chats. */
export interface Overdue {
  messages: number;
  chats: number;
  oldest?: Unanswered;
}

/** A message that has no outcome yet. */
interface Unanswered {
  entry: EntryId;
  chat: ChatKey;
  traceId: string;
  acceptedMs: number;
}

/** The times of one look, whatever the clock did before; see `createSightings`. */
interface Look {
  /** When a time counts from. */
  seen(name: string, ms: number): number;
  /** The reading of the clock `ms` milliseconds ago, before any step since. */
  ago(ms: number): number;
}

/**
 * Finds what is overdue in a shard, in every lane of it; `resting` is what has an operator's pause to wait for. Contract:
 * rejects when Redis cannot be reached.
 */
export type ReadOverdue = (keys: Keys, look: Look, nowMs: number) => Promise<Record<'overdue' | 'resting', Overdue>>;

type Tally = [messages: number, chats: number, entry: EntryId | '', chat: ChatKey, traceparent: string];
type Ahead = [entry: EntryId, chat: ChatKey, traceparent: string, messages: number, isPaused: 0 | 1];
type Slice = [cursor: string, late: Tally, resting: Tally, ahead: Ahead[]];

/** A slice takes a few ms of Redis' thread, which everybody shares. */
const LANES_AT_ONCE = 500;

/** A reader of what is overdue after `unansweredMs`. What lies ahead of the clock is, once it was seen for so long. */
export function createOverdueReader(redis: RedisClient, unansweredMs: number): ReadOverdue {
  const read = bindScript<Slice>(redis, join(import.meta.dirname, 'overdue.lua'));
  return async ({ inbound, lanes, absent, paused, resumed, lanePrefix, turnPrefix }, look, nowMs) => {
    const found = { overdue: { messages: 0, chats: 0 }, resting: { messages: 0, chats: 0 } };
    const fixed = [LANES_AT_ONCE, look.ago(unansweredMs), nowMs, lanePrefix, turnPrefix, 'replied', INBOUND_GROUP];
    let cursor = '0';
    do {
      const [next, late, resting, ahead] = await read([inbound, lanes, absent, paused, resumed], [cursor, ...fixed]);
      const seenMs = (entry: EntryId | '') => (entry === '' ? 0 : look.seen(`${inbound} ${entry}`, msOf(entry)));
      add(found.overdue, late, seenMs(late[2]));
      add(found.resting, resting, seenMs(resting[2]));
      for (const [entry, chat, traceparent, messages, isPaused] of ahead) {
        const acceptedMs = seenMs(entry);
        if (nowMs - acceptedMs < unansweredMs) continue;
        add(isPaused ? found.resting : found.overdue, [messages, 1, entry, chat, traceparent], acceptedMs);
      }
      cursor = next;
    } while (cursor !== '0');
    return found;
  };
}

function add(to: Overdue, [messages, chats, entry, chat, traceparent]: Tally, acceptedMs: number): void {
  to.messages += messages;
  to.chats += chats;
  if (entry === '' || acceptedMs >= (to.oldest?.acceptedMs ?? Number.POSITIVE_INFINITY)) return;
  to.oldest = { entry, chat, traceId: traceIdOf(traceparent), acceptedMs };
}

/** Binds the counting of the finished answers that wait to be delivered, of the oldest messages of each shard. */
export function createAnswerCounter(redis: RedisClient, shards: number): () => Promise<WaitingAnswers> {
  const count = bindScript<[answers: number, chats: number]>(redis, join(import.meta.dirname, 'waiting-answers.lua'));
  return async () => {
    const all = { answers: 0, chats: 0 };
    for (let shard = 0; shard < shards; shard++) {
      const { inbound, absent, turnPrefix } = keysOf(shard);
      const [answers, chats] = await count([inbound, absent], [turnPrefix, LOOKED_AT_MAX]);
      all.answers += answers;
      all.chats += chats;
    }
    return all;
  };
}

/** Finished answers, and their chats. */
export interface WaitingAnswers {
  answers: number;
  chats: number;
}

/** The lanes of a shard: how many there are, and how many messages stand in the longest one. */
export interface LaneSizes {
  nowMs: number;
  lanes: number;
  deepest: number;
  /** Alerts that are not in the book of incidents yet. */
  alerts: number;
}

/** Of very many lanes, or messages, only so many are looked at. */
const LOOKED_AT_MAX = 5_000;

/** Binds the measuring of a shard's lanes. Contract: the returned function rejects when Redis cannot be reached. */
export function createLaneMeasure(redis: RedisClient): (keys: Keys) => Promise<LaneSizes> {
  const measure = bindScript<[number, number, number, number]>(redis, join(import.meta.dirname, 'measure-lanes.lua'));
  return async ({ lanes: all, alerts: queued, absent, lanePrefix }) => {
    const [nowMs, lanes, deepest, alerts] = await measure([all, queued, absent], [lanePrefix, LOOKED_AT_MAX]);
    return { nowMs, lanes, deepest, alerts };
  };
}

/** How many messages of a shard have no outcome yet. Rejects when Redis cannot be reached. */
export function countUnanswered(redis: RedisClient, keys: Keys): Promise<number> {
  return redis.xlen(keys.inbound);
}
