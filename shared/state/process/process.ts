import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';

/** How long a starting worker counts as alive without a heartbeat. Longer than a start with slow tool servers. */
const GRACE_MS = 30_000;
/** Workers that die at every start get the grace period only once in this time. */
const STARTING_MS = 600_000;

/** Makes a unique name for this process. */
export function nameProcess(): string {
  return `${hostname()} ${process.pid} ${randomUUID()}`;
}

/** Reads the host and the process id from a process's name. */
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

/** Stores that a worker starts, so that the lack of a heartbeat raises no alert yet. Contract: best effort, never rejects. */
export async function noteStart(redis: RedisClient): Promise<void> {
  await redis.set(keysOf(0).starting, '', 'PX', STARTING_MS, 'NX').catch(() => undefined);
}

/** Stores that a start succeeded, so that the next start gets a grace period again. Rejects when Redis cannot be reached. */
export async function endStart(redis: RedisClient): Promise<void> {
  await redis.del(keysOf(0).starting);
}

/** Whether the start that `noteStart` stored is still within its grace period. Rejects when Redis cannot be reached. */
export async function isStarting(redis: RedisClient): Promise<boolean> {
  return (await redis.pttl(keysOf(0).starting)) > STARTING_MS - GRACE_MS;
}

/** The time of the Redis server that holds a key, in ms since the epoch. Rejects when Redis cannot be reached. */
export async function serverTimeMs(redis: RedisClient, key = keysOf(0).workers): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, key)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** The memory that a Redis server must have free. With less, small writes succeed and larger ones fail. */
const ROOM_BYTES = 256 * 1024;

/**
 * Proves that the server of a shard accepts writes and has room for several of them. Rejects with the server's refusal, or
 * when Redis cannot be reached.
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

/** Reports that the servers of some shards accept no writes. `message`: the first words of the first such server's error. */
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
 * Checks whether the servers of all shards accept writes; `undefined` if they do. A server that cannot be reached counts as
 * one that accepts none. If the previous check found a refusal (`hasRefused`), the servers must have twice the room, so that
 * the result does not alternate while Redis is nearly full. Never rejects.
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
 * Locks for regular tasks that one process does for all processes. Contract: each `take…` returns 0 if it takes the lock,
 * for `forMs`; otherwise the ms until the existing lock ends. Each method rejects when Redis cannot be reached.
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
    /** Takes the right to probe a failing endpoint. The lock lasts until the next probe may follow, `mostMs` at most. */
    takeEndpointProbe: (forMs: number, mostMs: number) => take(keys.endpointProbe, forMs, mostMs),
    /** Ends the pause between two probes, so that the next probe can follow at once. */
    endEndpointPause: async () => void (await redis.del(keys.endpointProbe)),
  };
}
