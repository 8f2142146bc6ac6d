import { traceIdOf } from '../../shared/base/telemetry.ts';
import { decodeMessage } from '../../shared/flow/message.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import type { EntryId, Keys, LaneKey } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream-id.ts';

/** A message that has no outcome yet, without its words. */
export interface InboundEntry {
  entry: EntryId;
  lane: LaneKey;
  traceId: string;
  acceptedMs: number;
  /** `text`, `file`, `reminder`, …; absent when the message cannot be read. */
  kind?: string;
  sentAtMs?: number;
  /** The dead letter's entry that was put back as this one. */
  replayOf?: EntryId;
}

/** Reads a message from the inbound stream; `undefined` when it is not there, because it has an outcome. */
export async function readInbound(redis: RedisClient, keys: Keys, entry: EntryId): Promise<InboundEntry | undefined> {
  const [found] = await redis.xrange(keys.inbound, entry, entry);
  return found && inboundOf(found);
}

/** The oldest message without an outcome whose user has no answer. */
export async function readOldest(redis: RedisClient, keys: Keys, answered: string): Promise<InboundEntry | undefined> {
  const first = await redis.xrange(keys.inbound, '-', '+', 'COUNT', LOOKED_AT_MAX);
  for (const each of first)
    if ((await redis.hexists(keys.turn(each[0] as EntryId), answered)) === 0) return inboundOf(each);
  return undefined;
}

/** A message that was answered stays on the stream only while its session is compacted. */
const LOOKED_AT_MAX = 20;

/** A message from an entry of the inbound stream. Pure. */
export function inboundOf([id, list]: [id: string, fields: string[]]): InboundEntry {
  const fields = fieldsOf(list);
  const decoded = decodeMessage(fields.get('message'));
  const replayOf = fields.get('replayed');
  return {
    entry: id as EntryId,
    lane: (fields.get('chat') ?? '') as LaneKey,
    traceId: traceIdOf(fields.get('traceparent') ?? ''),
    acceptedMs: msOf(id),
    ...(decoded.ok && { kind: decoded.value.content.kind, sentAtMs: decoded.value.sentAtMs }),
    ...(replayOf !== undefined && { replayOf: replayOf as EntryId }),
  };
}
