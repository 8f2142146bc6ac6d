import { join } from 'node:path';
import { traceIdOf } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, INBOUND_GROUP, type Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { msOf } from '../../shared/redis/stream.ts';

/** Messages that have waited for too long, and their chats. */
export interface Overdue {
  messages: number;
  chats: number;
  oldest?: Unanswered;
}

/** A message that has no outcome yet. */
export interface Unanswered {
  entry: EntryId;
  chat: ChatKey;
  traceId: string;
  acceptedMs: number;
}

/** Finds what is overdue in a shard, in every lane of it. Contract: rejects when Redis cannot be reached. */
export type ReadOverdue = (keys: Keys, look: Look, nowMs: number) => Promise<Record<'overdue' | 'resting', Overdue>>;

type Tally = [messages: number, chats: number, entry: EntryId | '', chat: ChatKey, traceparent: string];
type Ahead = [entry: EntryId, chat: ChatKey, traceparent: string, messages: number, isPaused: 0 | 1];
type Slice = [cursor: string, late: Tally, resting: Tally, ahead: Ahead[]];

/** A slice takes a few ms of Redis' thread, which everybody shares. */
const LANES_AT_ONCE = 500;

/** A reader of what is overdue after `unansweredMs`. What lies ahead of the clock is, once it was seen for so long. */
export function createOverdueReader(redis: RedisClient, unansweredMs: number): ReadOverdue {
  const read = bindScript<Slice>(redis, join(import.meta.dirname, 'overdue.lua'));
  return async ({ inbound, lanes, absent, paused, lanePrefix, turnPrefix }, look, nowMs) => {
    const found = { overdue: { messages: 0, chats: 0 }, resting: { messages: 0, chats: 0 } };
    const fixed = [LANES_AT_ONCE, nowMs - unansweredMs, nowMs, lanePrefix, turnPrefix, 'replied', INBOUND_GROUP];
    let cursor = '0';
    do {
      const [next, late, resting, ahead] = await read([inbound, lanes, absent, paused], [cursor, ...fixed]);
      add(found.overdue, late);
      add(found.resting, resting);
      for (const [entry, chat, traceparent, messages, isPaused] of ahead) {
        const acceptedMs = look.seen(`${inbound} ${entry}`, msOf(entry));
        if (nowMs - acceptedMs < unansweredMs) continue;
        add(isPaused ? found.resting : found.overdue, [messages, 1, entry, chat, traceparent], acceptedMs);
      }
      cursor = next;
    } while (cursor !== '0');
    return found;
  };
}

function add(to: Overdue, [messages, chats, entry, chat, traceparent]: Tally, acceptedMs = msOf(entry)): void {
  to.messages += messages;
  to.chats += chats;
  if (entry === '' || acceptedMs >= (to.oldest?.acceptedMs ?? Number.POSITIVE_INFINITY)) return;
  to.oldest = { entry, chat, traceId: traceIdOf(traceparent), acceptedMs };
}

/**
 * The times of one look as this process may use them. A time that lies ahead was written before the clock stepped back,
 * and would look young for as long as the step is: it counts from when this process first saw it.
 *
 * Contract: `seen` throws where a time is none.
 */
export interface Look {
  seen(name: string, ms: number): number;
  /** Ends the look: what was not seen in it is forgotten. */
  end(): void;
}

/** Keeps when times that lie ahead were first seen, by a clock that never steps. */
export function createSightings(steadyMs = () => performance.now()): (nowMs: number) => Look {
  let before: ReadonlyMap<string, number> = new Map();
  return (nowMs) => {
    const ahead = new Map<string, number>();
    return {
      seen(name, ms) {
        if (!Number.isFinite(ms)) throw new RangeError(`The time of ${name} cannot be read`);
        if (ms <= nowMs) return ms;
        const sight = `${name} ${ms}`;
        const firstMs = before.get(sight) ?? steadyMs();
        ahead.set(sight, firstMs);
        return nowMs - (steadyMs() - firstMs);
      },
      end() {
        before = ahead;
      },
    };
  };
}

/** A record whose times, the numbers in its fields `…Ms`, are those of a look; records within it are too. */
export function timesSeen<T extends object | undefined>(name: string, record: T, look: Look): T {
  if (record === undefined) return record;
  const fields = Object.entries(record).map(([field, value]: [string, unknown]) => {
    const path = `${name} ${field}`;
    if (typeof value === 'number' && field.endsWith('Ms')) return [field, look.seen(path, value)];
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [field, isRecord ? timesSeen(path, value, look) : value];
  });
  return Object.fromEntries(fields) as T;
}
