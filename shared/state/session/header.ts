import type { LogRecord } from '../../../worker/session/record.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

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

/** Makes changes together, outside any turn. */
export async function applyTogether(redis: RedisClient, changes: readonly Change[]): Promise<void> {
  const transaction = redis.multi();
  for (const [name, ...words] of changes) transaction.call(name, ...words);
  await transaction.exec();
}
