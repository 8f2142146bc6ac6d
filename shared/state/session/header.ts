import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { TRIAL } from './session.ts';

/** How many sessions `chainOf` returns at most, unless its caller limits it further. */
const CHAIN_MAX = 10_000;

/**
 * Reads the size and the origin of a session. Times are ISO times. `createdAt` is absent for the first session of a chat.
 * `limitTokens` is absent unless a provider's error stated the model's window. `stored` has all fields of the hash. Rejects
 * when Redis cannot be reached.
 */
export async function readHeader(redis: RedisClient, keys: Keys, id: SessionId) {
  const [stored, logRecords] = await Promise.all([redis.hgetall(keys.session(id)), redis.llen(keys.log(id))]);
  const { archived = 0, entries = 0, bytes = 0, windowStart = 0, parent, limitTokens } = stored;
  const { createdAt, compactedAt, compactedTokens = 0 } = stored;
  return {
    // `records` includes archived ones; `entries` are the messages and answers among the records.
    ...{ records: Number(archived) + logRecords, entries: Number(entries), bytes: Number(bytes) },
    ...{ windowStart: Number(windowStart), stored: stored as Readonly<Record<string, string>> },
    ...(parent && { parent }),
    ...(createdAt && { createdAt }),
    // The time of the newest compaction, and the size of the window after that compaction.
    ...(compactedAt && { compacted: { at: compactedAt, tokens: Number(compactedTokens) } }),
    ...(limitTokens && { limitTokens: Number(limitTokens) }),
  };
}

/** The oldest line of a log, if any, and its newest `count` lines, oldest first. */
export async function endsOfLog(redis: RedisClient, keys: Keys, id: SessionId, count: number) {
  const log = keys.log(id);
  const [[oldest], newest] = await Promise.all([redis.lrange(log, 0, 0), redis.lrange(log, -count, -1)]);
  return { oldest, newest };
}

/** The index at which a session's window begins, and the log's line at that index, if any. */
export async function windowStartOf(redis: RedisClient, keys: Keys, id: SessionId) {
  const [windowStart = null, archived = null] = await redis.hmget(keys.session(id), 'windowStart', 'archived');
  const start = Number(windowStart ?? 0);
  const line = await redis.lindex(keys.log(id), start - Number(archived ?? 0));
  return { start, line: line ?? undefined };
}

/** A session, its parent, the parent of that session and so on, newest first; `most` sessions at most. */
export async function chainOf(redis: RedisClient, keys: Keys, id: SessionId, most = CHAIN_MAX): Promise<SessionId[]> {
  const chain: SessionId[] = [];
  for (let at: SessionId | null = id; at !== null && chain.length < most; ) {
    chain.push(at);
    at = (await redis.hget(keys.session(at), 'parent')) as SessionId | null;
  }
  return chain;
}

/** The fresh sessions of the trials of a session's messages. */
export async function trialSessionsOf(redis: RedisClient, keys: Keys, id: SessionId): Promise<SessionId[]> {
  const names = await redis.hkeys(keys.session(id));
  return names.filter((name) => name.startsWith(TRIAL)).map((name) => name.slice(TRIAL.length) as SessionId);
}
