import type { LogRecord } from '../../../worker/session/record.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { TRIED } from './session.ts';

/** No chat has more sessions than this. */
const CHAIN_MAX = 10_000;

/** The size of a session, and where it comes from. */
export interface SessionHeader {
  /** All records, the archived ones included. */
  records: number;
  bytes: number;
  windowStart: number;
  parent?: string;
  /** The window of the model as it was learnt; absent while none was. */
  limitTokens?: number;
  /** The fields as they are stored. */
  stored: Readonly<Record<string, string>>;
}

/** Reads what a session is made of. Rejects when Redis cannot be reached. */
export async function readHeader(redis: RedisClient, keys: Keys, id: SessionId): Promise<SessionHeader> {
  const [stored, kept] = await Promise.all([redis.hgetall(keys.session(id)), redis.llen(keys.log(id))]);
  const { archived = 0, bytes = 0, windowStart = 0, parent, limitTokens } = stored;
  return {
    ...{ records: Number(archived) + kept, bytes: Number(bytes), windowStart: Number(windowStart), stored },
    ...(parent && { parent }),
    ...(limitTokens && { limitTokens: Number(limitTokens) }),
  };
}

/** The newest records of a session, oldest first. */
export async function newestOfLog(redis: RedisClient, keys: Keys, id: SessionId, count: number): Promise<LogRecord[]> {
  return (await redis.lrange(keys.log(id), -count, -1)).map((line) => JSON.parse(line) as LogRecord);
}

/** How many messages and answers a session has. */
export async function entriesOf(redis: RedisClient, keys: Keys, id: SessionId): Promise<number> {
  return Number((await redis.hget(keys.session(id), 'entries')) ?? 0);
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
