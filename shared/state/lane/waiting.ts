import { BURST_MAX, decodeMessage, type Waiting } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, type EntryId, type Keys, type LaneKey, lanesOf } from '../../redis/keys.ts';
import { inSlices } from '../../redis/stream.ts';
import { readEntry } from '../message/inbound.ts';

/** A lane with unanswered messages. */
export interface LaneDepth {
  chat: ChatKey;
  lane: LaneKey;
  /** The number of messages in the lane, the running one included. */
  messages: number;
  /** Whether the lane's first message waits for a person's decision. */
  isParked: boolean;
}

const LANES_AT_ONCE = 1_000;

/** Reads the lanes of a shard that have messages. */
export async function readDepths(redis: RedisClient, keys: Keys): Promise<LaneDepth[]> {
  const depths: LaneDepth[] = [];
  for (const lanes of inSlices((await redis.smembers(keys.lanes)) as LaneKey[], LANES_AT_ONCE))
    depths.push(...(await Promise.all(lanes.map((lane) => depthOf(redis, keys, lane)))));
  return depths.filter(({ messages }) => messages > 0);
}

async function depthOf(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<LaneDepth> {
  const [messages, head = ''] = await Promise.all([readDepth(redis, keys, lane), readHead(redis, keys, lane)]);
  const isParked = (await redis.hexists(keys.turn(head as EntryId), 'parkedUntil')) === 1;
  return { chat: chatOf(lane), lane, messages, isParked };
}

/** Counts the unanswered messages of a chat in all of its lanes, the running ones included. */
export async function readWaiting(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<number> {
  const depths = await Promise.all(lanesOf(chat).map((lane) => readDepth(redis, keys, lane)));
  return depths.reduce((sum, each) => sum + each, 0);
}

/** Counts the messages of a lane. */
export function readDepth(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<number> {
  return redis.llen(keys.lane(lane));
}

/** The first message of a lane, if any. */
export async function readHead(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<EntryId | undefined> {
  return ((await redis.lindex(keys.lane(lane), 0)) as EntryId | null) ?? undefined;
}

/** Counts the messages before a message in its lane; `undefined` if the message is not in the lane. */
export async function readPosition(
  redis: RedisClient,
  keys: Keys,
  { entry, lane }: { entry: EntryId; lane: LaneKey },
): Promise<number | undefined> {
  return (await redis.lpos(keys.lane(lane), entry)) ?? undefined;
}

/** How many messages behind a lane's head to read at most: twice the number that a burst of forwards may have. */
const BEHIND_MAX = 2 * BURST_MAX;

/** The next messages behind a lane's head, oldest first, without refused, cancelled and unreadable ones. */
export async function readBehind(redis: RedisClient, keys: Keys, lane: LaneKey): Promise<Waiting[]> {
  const entries = (await redis.lrange(keys.lane(lane), 1, BEHIND_MAX)) as EntryId[];
  const waiting = await Promise.all(entries.map((entry) => waitingAt(redis, keys, entry)));
  return waiting.filter((each) => each !== undefined);
}

/** A waiting message, with its latest edit; undefined if the message is gone, refused, cancelled or unreadable. */
async function waitingAt(redis: RedisClient, keys: Keys, entry: EntryId): Promise<Waiting | undefined> {
  const [fields, [edited, into, ...marks]] = await Promise.all([
    readEntry(redis, keys, entry),
    redis.hmget(keys.turn(entry), 'edited', 'mergedInto', 'cancelled', 'refused'),
  ]);
  const decoded = decodeMessage((fields && edited) ?? fields?.get('message'));
  if (!decoded.ok || marks.some((mark) => mark !== null)) return undefined;
  return { entry, message: decoded.value, ...(into !== null && { isMerged: true }) };
}
