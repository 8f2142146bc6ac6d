import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';

/** The time in which a starting worker counts as alive. Longer than a start with slow tool servers. */
const GRACE_MS = 30_000;
/** A process that dies at every start gets the grace only once in this time. */
const STARTING_MS = 600_000;

/** Makes a unique name for this process. */
export function nameProcess(): string {
  return `${hostname()} ${process.pid} ${randomUUID()}`;
}

/** The host and the process id of a process's name. */
export function hostAndPid(name: string): { host: string; pid: number } {
  const [host = '', pid = ''] = name.split(' ');
  return { host, pid: Number(pid) };
}

/** The field of `keys.running` with the place in the code at which a process froze. */
export function frozenField(name: string): string {
  return `frozen ${name}`;
}

/** Stores the place in the code at which a process froze, for an alert. Rejects when Redis cannot be reached. */
export async function noteFrozen(redis: RedisClient, name: string, where: string): Promise<void> {
  await redis.hset(keysOf(0).running, frozenField(name), where);
}

/** Stores that a worker process starts, so that its absence is no trouble yet. Contract: best effort, never rejects. */
export async function noteStart(redis: RedisClient): Promise<void> {
  await redis.set(keysOf(0).starting, '', 'PX', STARTING_MS, 'NX').catch(() => undefined);
}

/** Stores that a start has succeeded, so that the next start gets a grace again. Rejects when Redis cannot be reached. */
export async function endStart(redis: RedisClient): Promise<void> {
  await redis.del(keysOf(0).starting);
}

/** Whether a start is under way. Rejects when Redis cannot be reached. */
export async function isStarting(redis: RedisClient): Promise<boolean> {
  return (await redis.pttl(keysOf(0).starting)) > STARTING_MS - GRACE_MS;
}

/** The time of the Redis server that holds a key, in ms since the epoch. */
export async function serverTimeMs(redis: RedisClient, key = keysOf(0).workers): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, key)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** The memory that must be free. With less, small writes succeed and larger ones fail. */
const ROOM_BYTES = 256 * 1024;

/**
 * Proves that the server of a shard accepts writes and has room for several. Rejects with the server's refusal, or when Redis
 * cannot be reached.
 */
export async function proveWrites(
  redis: RedisClient,
  { checked }: Pick<Keys, 'checked'>,
  roomBytes = ROOM_BYTES,
): Promise<void> {
  // Three commands instead of a script, because Redis checks the memory before each command: the second command fails if
  // the first one used up the room.
  const proof = redis
    .pipeline()
    .setrange(checked, roomBytes - 1, '.')
    .set(checked, '')
    .del(checked);
  for (const [error] of (await proof.exec()) ?? []) if (error !== null) throw error;
}

/** Reports that the servers of some shards accept no writes. Its message is the error of the first such server. */
export class RefusedWritesError extends Error {
  override readonly name = 'RefusedWritesError';
  readonly refusing: readonly number[];
  readonly shards: number;

  constructor(cause: unknown, refusing: readonly number[], shards: number) {
    super(cause instanceof Error ? cause.message.split(' ').slice(0, 8).join(' ') : 'unknown', { cause });
    this.refusing = refusing;
    this.shards = shards;
  }
}

/**
 * Checks whether all shards accept writes; `undefined` if they do. After a refusal (`hasRefused`) they must prove twice the
 * room, so that the result does not alternate while Redis is nearly full. Never rejects.
 */
export async function findRefusedWrites(
  redis: RedisClient,
  shards: number,
  hasRefused = false,
): Promise<RefusedWritesError | undefined> {
  const roomBytes = hasRefused ? 2 * ROOM_BYTES : ROOM_BYTES;
  const proofs = Array.from({ length: shards }, (_, shard) => proveWrites(redis, keysOf(shard), roomBytes));
  const results = await Promise.allSettled(proofs);
  const refusing = results.flatMap(({ status }, shard) => (status === 'rejected' ? [shard] : []));
  const first = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  return first && new RefusedWritesError(first.reason, refusing, shards);
}

/**
 * Locks for regular tasks that one process does for all processes. Contract: each `take…` returns 0 if this process has the
 * lock for that long, or else the remaining time of another process's lock; it rejects when Redis cannot be reached.
 */
export function createPasses(redis: RedisClient, keys: Keys) {
  const take = async (key: string, forMs: number, mostMs = forMs): Promise<number> => {
    if ((await redis.set(key, '', 'PX', forMs, 'NX')) === 'OK') return 0;
    const remainingMs = await redis.pttl(key);
    // If Redis' clock stepped back, the lock would last too long. Shorten it.
    if (remainingMs > mostMs) await redis.pexpire(key, mostMs);
    return Math.max(1, Math.min(remainingMs, mostMs));
  };
  return {
    takeReconciler: (forMs: number) => take(keys.pass, forMs),
    takeBlobKeeper: (forMs: number) => take(keys.blobPass, forMs),
    /** Takes the right to probe a failing endpoint; the lock is the pause until the next probe, at most `mostMs`. */
    takeEndpointProbe: (forMs: number, mostMs: number) => take(keys.endpointProbe, forMs, mostMs),
    /** Ends the pause, so that the next probe can follow at once. */
    endEndpointPause: async () => void (await redis.del(keys.endpointProbe)),
  };
}
