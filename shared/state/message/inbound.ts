import { traceIdOf } from '../../base/telemetry.ts';
import { decodeMessage } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, type Keys, type LaneKey, lanesOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { entriesFrom, fieldsOf, msOf } from '../../redis/stream.ts';
import type { Change } from '../change.ts';

/** A message that has no outcome yet, without its text. */
export interface InboundEntry {
  entry: EntryId;
  lane: LaneKey;
  traceId: string;
  acceptedMs: number;
  /** `text`, `file`, `reminder`, …; absent if the message is unreadable. */
  kind?: string;
  sentAtMs?: number;
  /** The entry whose dead letter was replayed as this message. */
  replayOf?: EntryId;
}

/** The fields of a message on the inbound stream; `undefined` once the message has an outcome. */
export async function readEntry(
  redis: RedisClient,
  keys: Keys,
  entry: string,
): Promise<Map<string, string> | undefined> {
  const [found] = await redis.xrange(keys.inbound, entry, entry);
  return found && fieldsOf(found[1]);
}

/** Reads a message; `undefined` once it has an outcome. */
export async function readInbound(redis: RedisClient, keys: Keys, entry: EntryId): Promise<InboundEntry | undefined> {
  const fields = await readEntry(redis, keys, entry);
  return fields && inboundOf(entry, fields);
}

/** The oldest message whose user has no answer, among the `OLDEST_MAX` oldest ones. */
export async function readOldest(redis: RedisClient, keys: Keys): Promise<InboundEntry | undefined> {
  const oldest = await redis.xrange(keys.inbound, '-', '+', 'COUNT', OLDEST_MAX);
  for (const each of oldest)
    if ((await redis.hexists(keys.turn(each[0] as EntryId), 'replied')) === 0)
      return inboundOf(each[0], fieldsOf(each[1]));
  return undefined;
}

/** How many entries `readOldest` reads. Few are answered: an answered entry stays only while its session is compacted. */
const OLDEST_MAX = 20;

/** The stored JSON of a message without an outcome, with its user's text. */
export async function storedMessage(redis: RedisClient, keys: Keys, entry: EntryId): Promise<string | undefined> {
  return (await readEntry(redis, keys, entry))?.get('message');
}

/** The message with this trace id that has no outcome yet, if any. */
export async function pendingOfTrace(redis: RedisClient, keys: Keys, traceId: string): Promise<EntryId | undefined> {
  for await (const each of entriesFrom(redis, keys.inbound, '-', { page: PAGE })) {
    const found = inboundOf(each[0], fieldsOf(each[1]));
    if (found.traceId === traceId) return found.entry;
  }
  return undefined;
}

const PAGE = 500;

function inboundOf(id: string, fields: Map<string, string>): InboundEntry {
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

/**
 * Applies changes that forget a chat, in one step, if the chat has no unanswered messages. Returns the number of unanswered
 * messages; above 0 nothing changes. Rejects when Redis cannot be reached.
 */
export function forgetUnlessUnderWay(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  changes: readonly Change[],
): Promise<number> {
  const run = bindScript<number>(redis, `${import.meta.dirname}/forget.lua`);
  const words = changes.flatMap((change) => [change.length, ...change]);
  return run([...lanesOf(chat).map(keys.lane), keys.absent], words);
}
