import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { TRIED } from './session.ts';

/** No chat has more sessions than this. */
const CHAIN_MAX = 10_000;

/**
 * Reads the size of a session, and where it comes from. Times are ISO times; `createdAt` is absent for the first session of a
 * chat, `limitTokens` while no window of the model was learnt, and `stored` has the fields as they are stored. Rejects when Redis cannot be reached.
 */
export async function readHeader(redis: RedisClient, keys: Keys, id: SessionId) {
  const [stored, kept] = await Promise.all([redis.hgetall(keys.session(id)), redis.llen(keys.log(id))]);
  const { archived = 0, entries = 0, bytes = 0, windowStart = 0, parent, limitTokens } = stored;
  const { createdAt, compactedAt, compactedTokens = 0 } = stored;
  return {
    // Archived records are counted; entries are the messages and answers among them.
    ...{ records: Number(archived) + kept, entries: Number(entries), bytes: Number(bytes) },
    ...{ windowStart: Number(windowStart), stored: stored as Readonly<Record<string, string>> },
    ...(parent && { parent }),
    ...(createdAt && { createdAt }),
    // When the newest summary was made, and what it left.
    ...(compactedAt && { compacted: { at: compactedAt, tokens: Number(compactedTokens) } }),
    ...(limitTokens && { limitTokens: Number(limitTokens) }),
  };
}

/** The oldest line of a log, where there is one, and so many of its newest ones, oldest first. */
export async function endsOfLog(redis: RedisClient, keys: Keys, id: SessionId, count: number) {
  const log = keys.log(id);
  const [[oldest], newest] = await Promise.all([redis.lrange(log, 0, 0), redis.lrange(log, -count, -1)]);
  return { oldest, newest };
}

/** Where the window of a session begins, and the line of its log that stands there. */
export async function windowStartOf(redis: RedisClient, keys: Keys, id: SessionId) {
  const [windowStart = null, archived = null] = await redis.hmget(keys.session(id), 'windowStart', 'archived');
  const start = Number(windowStart ?? 0);
  const line = await redis.lindex(keys.log(id), start - Number(archived ?? 0));
  return { start, line: line ?? undefined };
}

/** A session and its parents, newest first; at most so many. */
export async function chainOf(redis: RedisClient, keys: Keys, id: SessionId, most = CHAIN_MAX): Promise<SessionId[]> {
  const chain: SessionId[] = [];
  for (let at: SessionId | null = id; at !== null && chain.length < most; ) {
    chain.push(at);
    at = (await redis.hget(keys.session(at), 'parent')) as SessionId | null;
  }
  return chain;
}

/** The fresh sessions that were tried in the place of one. */
export async function triedInPlaceOf(redis: RedisClient, keys: Keys, id: SessionId): Promise<SessionId[]> {
  const fields = await redis.hkeys(keys.session(id));
  return fields.filter((name) => name.startsWith(TRIED)).map((name) => name.slice(TRIED.length) as SessionId);
}
