import type { RedisClient } from '../../shared/redis/connection.ts';
import {
  type ChatKey,
  type EntryId,
  type Keys,
  type LaneKey,
  parseChatKey,
  type SessionId,
} from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { movedGroups } from '../../shared/state/chat/chat.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';
import { readDepth, readHead } from '../../shared/state/lane/waiting.ts';
import { readEntry } from '../../shared/state/message/inbound.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { endsOfLog, readHeader } from '../../shared/state/session/header.ts';
import type { Parking } from '../../shared/state/turn/parking.ts';
import { turnOf } from '../../shared/state/turn/record.ts';
import { turnReads } from '../../shared/state/turn/summary.ts';
import { estimateContent } from '../model/estimate.ts';
import { conversationSize } from '../model/usage.ts';
import { decodeRecord, type LogRecord } from '../session/record.ts';

/** The size and age of a session, as `/status` and the reports show them. Times are ms since the epoch. */
export interface SessionState {
  messages: number;
  bytes: number;
  /** When the conversation began; absent if it has not begun. */
  sinceMs?: number;
  /** The time of the newest compaction; absent without one. */
  compactedMs?: number;
  /** The tokens that the newest answer or a newer compaction states, plus an estimate for later records. */
  tokens: number;
}

/** The messages in a lane: how many wait, and how long ago the message that is being answered was accepted. */
export interface Work {
  waiting: number;
  /** The age of the message that is being answered; absent without one. */
  workingMs?: number;
}

export type ChatState = ReturnType<typeof createChatState>;

/** How many records to search for the newest answer. A round of tools takes two records. */
const NEWEST_RECORDS = 20;

/** Reads the state of the chats of one shard. Contract: changes nothing; rejects when Redis cannot be reached. */
export function createChatState(redis: RedisClient, keys: Keys) {
  const moved = movedGroups(redis);
  const formerGroup = async (chat: ChatKey) => `${await moved.formerOf(parseChatKey(chat)?.chatId ?? 0)}`;
  return {
    async session(id: SessionId): Promise<SessionState> {
      const [{ entries, bytes, createdAt, compacted }, { oldest, newest }] = await Promise.all([
        readHeader(redis, keys, id),
        endsOfLog(redis, keys, id, NEWEST_RECORDS),
      ]);
      const since = createdAt ?? (oldest && decodeRecord(oldest).at);
      const compactedMs = compacted && Date.parse(compacted.at);
      return {
        messages: entries,
        bytes,
        ...(since && { sinceMs: Date.parse(since) }),
        ...(compactedMs !== undefined && { compactedMs }),
        tokens: tokensOf(newest.map(decodeRecord), compactedMs, compacted?.tokens ?? 0),
      };
    },
    /** The state of a pending message's questions, if the message is of this chat, or of the group that became this chat. */
    async findParking(entry: EntryId, chat: ChatKey): Promise<{ parking: Parking; head: Head } | undefined> {
      const fields = await readEntry(redis, keys, entry);
      const lane = fields?.get('chat') as LaneKey | undefined;
      if (lane === undefined || (lane !== chat && lane !== (await formerGroup(chat)))) return undefined;
      const { parking } = turnOf(keys, entry, new Map(Object.entries(await turnReads(redis, keys).fieldsOf(entry))));
      return { parking, head: { entry, chat: lane, traceparent: fields?.get('traceparent') ?? '' } };
    },
    /** The time of Redis, whose clock also gives the entries their ids. */
    nowMs: () => serverTimeMs(redis, keys.inbound),
    async work(lane: LaneKey, nowMs: number): Promise<Work> {
      const [length, head] = await Promise.all([readDepth(redis, keys, lane), readHead(redis, keys, lane)]);
      const isRunning = head !== undefined && (await turnReads(redis, keys).isRunning(head));
      return isRunning ? { waiting: length - 1, workingMs: Math.max(0, nowMs - msOf(head)) } : { waiting: length };
    },
  };
}

/** The tokens that the newest answer or, if newer, the newest compaction states, plus an estimate for all later records. */
function tokensOf(newest: readonly LogRecord[], compactedMs: number | undefined, compactedTokens: number): number {
  let later = 0;
  for (const record of newest.toReversed()) {
    if (record.t !== 'user' && record.t !== 'assistant') continue;
    if (compactedMs !== undefined && Date.parse(record.at) <= compactedMs) break;
    const isAnswer = record.t === 'assistant' && record.usage !== undefined;
    const size = isAnswer ? conversationSize(record.usage, record.content) : undefined;
    if (size !== undefined) return size.tokens + later;
    later += estimateContent(record.content);
  }
  return compactedTokens + later;
}
