import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys, LaneKey, SessionId } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { turnReads } from '../../shared/state/turn/summary.ts';
import { estimateContent } from '../model/estimate.ts';
import { conversationSize } from '../model/usage.ts';
import { decodeRecord, type LogRecord } from '../session/record.ts';

/** The size and age of a session, as `/status` shows them. Times are ms since the epoch. */
export interface SessionState {
  messages: number;
  /** Absent while nothing was said. */
  sinceMs?: number;
  /** Absent when no summary was ever made. */
  compactedMs?: number;
  /** Tokens of the newest request and its answer, or of the summary that came after it. */
  tokens: number;
}

/** The messages in a lane. */
export interface Work {
  waiting: number;
  /** How long ago the message that is being answered was accepted; absent when none is. */
  workingMs?: number;
}

/** Reads for commands about a chat. Contract: changes nothing; rejects when Redis cannot be reached. */
export interface ChatState {
  session(id: SessionId): Promise<SessionState>;
  work(lane: LaneKey, nowMs: number): Promise<Work>;
}

/** The newest answer stands among these: a round of tools is two records. */
const NEWEST_RECORDS = 20;

/** The state of the chats of one shard, over a connection. */
export function createChatState(redis: RedisClient, keys: Keys): ChatState {
  return {
    async session(id) {
      const [about, [first], newest] = await Promise.all([
        redis.hgetall(keys.session(id)),
        redis.lrange(keys.log(id), 0, 0),
        redis.lrange(keys.log(id), -NEWEST_RECORDS, -1),
      ]);
      const since = about.createdAt ?? (first && decodeRecord(first).at);
      const compactedMs = about.compactedAt === undefined ? undefined : Date.parse(about.compactedAt);
      return {
        messages: Number(about.entries ?? 0),
        ...(since && { sinceMs: Date.parse(since) }),
        ...(compactedMs !== undefined && { compactedMs }),
        tokens: tokensOf(newest.map(decodeRecord), compactedMs, Number(about.compactedTokens ?? 0)),
      };
    },
    async work(lane, nowMs) {
      const [length, head] = await Promise.all([redis.llen(keys.lane(lane)), redis.lindex(keys.lane(lane), 0)]);
      const isRunning = head !== null && (await turnReads(redis, keys).isRunning(head as EntryId));
      return isRunning ? { waiting: length - 1, workingMs: Math.max(0, nowMs - msOf(head)) } : { waiting: length };
    },
  };
}

/** The size at the newest answer that states it, with our estimate of what came after it. */
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
