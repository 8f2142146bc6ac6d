import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, chatOf, commandLaneOf, type EntryId, type Keys, type LaneKey } from '../../redis/keys.ts';

/** A lane in which messages wait, the one that is being answered included. */
export interface LaneDepth {
  chat: ChatKey;
  lane: LaneKey;
  messages: number;
}

/** How deep the lanes of a shard are; empty ones are left out. */
export async function readDepths(redis: RedisClient, keys: Keys): Promise<LaneDepth[]> {
  const lanes = (await redis.smembers(keys.lanes)) as LaneKey[];
  const pipeline = redis.pipeline();
  for (const lane of lanes) pipeline.llen(keys.lane(lane));
  const lengths = (await pipeline.exec()) ?? [];
  return lanes
    .map((lane, at) => ({ chat: chatOf(lane), lane, messages: Number(lengths[at]?.[1] ?? 0) }))
    .filter(({ messages }) => messages > 0);
}

/** How many messages of a chat wait or are being answered, commands included. */
export async function readWaiting(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<number> {
  const depths = await Promise.all([redis.llen(keys.lane(chat)), redis.llen(keys.lane(commandLaneOf(chat)))]);
  return depths[0] + depths[1];
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
