import { join } from 'node:path';
import { traceIdOf } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, INBOUND_GROUP, type Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { msOf } from '../../shared/redis/stream.ts';
import type { Look } from './sightings.ts';

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
