import { type ChatKey, chatOf, type LaneKey } from '../../shared/redis/keys.ts';
import { type ReportSource, shardsOf } from './source.ts';

/** A lane in which messages wait, the one that is being answered included. */
export interface LaneDepth {
  chat: ChatKey;
  lane: LaneKey;
  messages: number;
}

/** The lanes of all chats. */
export interface Lanes {
  /** How many hold at least one message. */
  count: number;
  /** How many hold more than the one that is being answered. */
  waiting: number;
  /** The deepest first. */
  deepest: LaneDepth[];
}

const DEEPEST_SHOWN = 5;

/** Reads how deep the lanes are. */
export async function readLanes(source: ReportSource): Promise<Lanes> {
  const all = (await Promise.all(shardsOf(source).map((keys) => depthsOf(source, keys)))).flat();
  const deepest = all.sort((one, other) => other.messages - one.messages).slice(0, DEEPEST_SHOWN);
  return { count: all.length, waiting: all.filter(({ messages }) => messages > 1).length, deepest };
}

async function depthsOf({ redis }: ReportSource, keys: ReturnType<typeof shardsOf>[number]): Promise<LaneDepth[]> {
  const lanes = (await redis.smembers(keys.lanes)) as LaneKey[];
  const pipeline = redis.pipeline();
  for (const lane of lanes) pipeline.llen(keys.lane(lane));
  const lengths = (await pipeline.exec()) ?? [];
  return lanes
    .map((lane, at) => ({ chat: chatOf(lane), lane, messages: Number(lengths[at]?.[1] ?? 0) }))
    .filter(({ messages }) => messages > 0);
}
