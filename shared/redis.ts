import { Redis } from 'ioredis';

/** How a connection is used decides how it must fail. */
export type ConnectionUse =
  /** Commands wait for Redis to come back: for workers, whose jobs are retried anyway. */
  | 'patient'
  /** Commands fail at once while Redis is away: for intake, which must not confirm what it could not store. */
  | 'impatient';

/** Longest wait of a blocking read. Below the socket timeout, so that a silent socket is told from an idle stream. */
export const BLOCK_MS = 5_000;

const SOCKET_TIMEOUT_MS = 15_000;
const RECONNECT_MAX_MS = 2_000;

/**
 * Opens a connection. It reconnects for ever with a bounded backoff; a half-open socket (no bytes for 15 s while a
 * command waits) is dropped and replaced. Every write that we send is idempotent, so a re-send after a lost reply is
 * safe.
 */
export function connectRedis(url: string, use: ConnectionUse): Redis {
  const redis = new Redis(url, {
    connectTimeout: 5_000,
    socketTimeout: SOCKET_TIMEOUT_MS,
    keepAlive: 10_000,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), RECONNECT_MAX_MS),
    maxRetriesPerRequest: use === 'patient' ? null : 0,
    enableOfflineQueue: use === 'patient',
    enableReadyCheck: true,
  });
  // Without a listener ioredis prints to the console; the callers see the same errors on their commands.
  redis.on('error', () => {});
  return redis;
}

/** Waits until a connection is usable. Rejects after `deadlineMs` with a sentence that says what to check. */
export async function untilReady(redis: Redis, deadlineMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new Error('Redis did not answer. Check REDIS_URL and that the server is running.')),
    deadlineMs,
  );
  redis.once('ready', resolve);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    redis.off('ready', resolve);
  }
}
