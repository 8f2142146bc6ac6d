import { decodeMessage, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import {
  type ChatKey,
  chatOf,
  commandLaneOf,
  deskLaneOf,
  type EntryId,
  type Keys,
  type LaneKey,
} from '../../redis/keys.ts';
import { readEntry } from '../message/inbound.ts';

/** A lane in which messages wait, the one that is being answered included. */
export interface LaneDepth {
  chat: ChatKey;
  lane: LaneKey;
  messages: number;
  /** Whether its first message waits for somebody's decision. */
  isParked: boolean;
}

/** How deep the lanes of a shard are; empty ones are left out. */
export async function readDepths(redis: RedisClient, keys: Keys): Promise<LaneDepth[]> {
  const lanes = (await redis.smembers(keys.lanes)) as LaneKey[];
  const pipeline = redis.pipeline();
  for (const lane of lanes) pipeline.llen(keys.lane(lane)).lindex(keys.lane(lane), 0);
  const found = (await pipeline.exec()) ?? [];
  const heads = redis.pipeline();
  for (const at of lanes.keys()) heads.hget(keys.turn((found[2 * at + 1]?.[1] ?? '') as EntryId), 'parkedUntil');
  const parked = (await heads.exec()) ?? [];
  return lanes
    .map((lane, at) => ({
      chat: chatOf(lane),
      lane,
      messages: Number(found[2 * at]?.[1] ?? 0),
      isParked: parked[at]?.[1] != null,
    }))
    .filter(({ messages }) => messages > 0);
}

/** How many messages of a chat wait or are being answered, commands included. */
export async function readWaiting(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<number> {
  const depths = await Promise.all(
    [chat, commandLaneOf(chat), deskLaneOf(chat)].map((lane) => readDepth(redis, keys, lane)),
  );
  return depths.reduce((sum, each) => sum + each, 0);
}

/** How many messages stand in a lane. */
export function readDepth(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<number> {
  return redis.llen(keys.lane(lane));
}

/** The first message of a lane. */
export async function readHead(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<EntryId | undefined> {
  return ((await redis.lindex(keys.lane(lane), 0)) as EntryId | null) ?? undefined;
}

/** How many messages of its lane are before one; `undefined` when it is not in its lane. */
export async function readPosition(
  redis: RedisClient,
  keys: Keys,
  { entry, lane }: { entry: EntryId; lane: LaneKey },
): Promise<number | undefined> {
  return (await redis.lpos(keys.lane(lane), entry)) ?? undefined;
}

/** What the ledger records of an entry besides its outcome. */
export interface Glance {
  entry: EntryId;
  traceparent: string;
  /** Absent when the message cannot be read. */
  sentAtMs?: number;
}

/** A limit per step, because a script must not block the others for long; the rest end with the next message. */
const REFUSED_AT_ONCE_MAX = 200;
/** As many as one notice reports on. */
const REFUSED_TOLD_MAX = 2_000;

/** What was refused at admission and waits behind a lane's head, in order. */
export interface Refused {
  /** The entries directly behind it, up to a bound. */
  adjacent: EntryId[];
  /** Those behind other messages, and those over the bound. */
  others: EntryId[];
}

/** The messages waiting behind a lane's head, in order, without refused, cancelled and unreadable ones. */
export async function readBehind(
  redis: RedisClient,
  keys: Keys,
  lane: LaneKey,
  messagesMax: number,
): Promise<Waiting[]> {
  const entries = (await redis.lrange(keys.lane(lane), 1, messagesMax)) as EntryId[];
  const waiting = await Promise.all(entries.map((entry) => waitingAt(redis, keys, entry)));
  return waiting.filter((each) => each !== undefined);
}

/** What was refused at admission behind a lane's head: what a notice has reported on, or else what none has. */
export async function readRefused(redis: RedisClient, keys: Keys, lane: LaneKey, isTold: boolean): Promise<Refused> {
  const entries = (await redis.lrange(keys.lane(lane), 1, REFUSED_TOLD_MAX)) as EntryId[];
  const marks = await Promise.all(
    entries.map((entry) => redis.hmget(keys.turn(entry), 'refused', 'cancelled', 'reportedBy')),
  );
  const isRefused = ([refused, cancelled, told]: (string | null)[]) =>
    refused !== null && cancelled === null && (told !== null) === isTold;
  const end = marks.findIndex((each) => !isRefused(each));
  const adjacent = entries.slice(0, Math.min(end === -1 ? entries.length : end, REFUSED_AT_ONCE_MAX));
  const others = entries.filter((_, at) => at >= adjacent.length && isRefused(marks[at] ?? []));
  return { adjacent, others };
}

/** The traces and times of entries, in order; an entry that is gone is omitted. */
export async function readGlances(redis: RedisClient, keys: Keys, entries: readonly EntryId[]): Promise<Glance[]> {
  const found = await Promise.all(entries.map((entry) => readEntry(redis, keys, entry)));
  return found.flatMap((fields, at) => {
    const entry = entries[at];
    if (!fields || entry === undefined) return [];
    const decoded = decodeMessage(fields.get('message'));
    const sentAtMs = decoded.ok ? { sentAtMs: decoded.value.sentAtMs } : {};
    return [{ entry, traceparent: fields.get('traceparent') ?? '', ...sentAtMs }];
  });
}

/** A message that still waits for its turn; undefined when it does not, or cannot be read. */
async function waitingAt(redis: RedisClient, keys: Keys, entry: EntryId): Promise<Waiting | undefined> {
  const [fields, [edited, into, ...marks]] = await Promise.all([
    readEntry(redis, keys, entry),
    redis.hmget(keys.turn(entry), 'edited', 'mergedInto', 'cancelled', 'refused'),
  ]);
  const decoded = decodeMessage((fields && edited) ?? fields?.get('message'));
  if (!decoded.ok || marks.some((mark) => mark !== null)) return undefined;
  return { entry, message: decoded.value, ...(into !== null && { isTaken: true }) };
}
