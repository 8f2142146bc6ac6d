import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';

/** Longer than a start takes in which tool servers are slow. */
const GRACE_MS = 30_000;
/** A process that dies at each start, and is started again, gets the grace once in this time. */
const KEPT_MS = 600_000;

/** A name for this process that no other one ever has. */
export function nameProcess(): string {
  return `${hostname()} ${process.pid} ${randomUUID()}`;
}

/** The host that a name is of, and the process id there. */
export function hostAndPid(name: string): { host: string; pid: number } {
  const [host = '', pid = ''] = name.split(' ');
  return { host, pid: Number(pid) };
}

/** The field of `keys.running` with the place where a process stood still. */
export function frozenField(name: string): string {
  return `frozen ${name}`;
}

/** Notes where a process stands still, for those that outlive it. Rejects when Redis cannot be reached. */
export async function noteFrozen(redis: RedisClient, name: string, where: string): Promise<void> {
  await redis.hset(keysOf(0).running, frozenField(name), where);
}

/**
 * Notes that a worker process starts: until it shows itself, nothing is wrong yet. Contract: best effort; a Redis that
 * takes no writes is reported elsewhere.
 */
export async function noteStart(redis: RedisClient): Promise<void> {
  await redis.set(keysOf(0).starting, '', 'PX', KEPT_MS, 'NX').catch(() => undefined);
}

/** Notes that a start has succeeded: the next one gets its own grace. Rejects when Redis cannot be reached. */
export async function endStart(redis: RedisClient): Promise<void> {
  await redis.del(keysOf(0).starting);
}

/** Whether a start is under way. Rejects when Redis cannot be reached. */
export async function isStarting(redis: RedisClient): Promise<boolean> {
  return (await redis.pttl(keysOf(0).starting)) > KEPT_MS - GRACE_MS;
}

/** The time, in ms since the epoch, of the server that holds the key: what is recorded there uses the same clock. */
export async function serverTimeMs(redis: RedisClient, key = keysOf(0).workers): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, key)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Where less is free, single writes go through and others do not. */
const ROOM_BYTES = 256 * 1024;

/**
 * Proves that the server of a shard takes writes: there is room for a number of them. A server can answer and still
 * refuse. Rejects with the refusal, or when Redis cannot be reached.
 */
export async function proveWrites(
  redis: RedisClient,
  { checked }: Pick<Keys, 'checked'>,
  roomBytes = ROOM_BYTES,
): Promise<void> {
  // Three commands and no script: each is checked by itself, so the second one meets the room that the first has left.
  const proof = redis
    .pipeline()
    .setrange(checked, roomBytes - 1, '.')
    .set(checked, '')
    .del(checked);
  for (const [error] of (await proof.exec()) ?? []) if (error !== null) throw error;
}

/** Some shards whose servers take no writes. Its message is the first of these servers' own words. */
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
 * Why shards take no writes; `undefined` when all take them. One that refused before has to prove twice the room, so that
 * a Redis at the edge does not go to and fro. Never rejects.
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
 * Passes of a shard, or of the installation, that one process at a time makes for all. Contract: each `take…` returns 0 when
 * the pass is taken for that long, or for how long another process still has it; it rejects when Redis cannot be reached.
 */
export function createPasses(redis: RedisClient, keys: Keys) {
  const take = async (key: string, forMs: number, mostMs = forMs): Promise<number> => {
    if ((await redis.set(key, '', 'PX', forMs, 'NX')) === 'OK') return 0;
    const leftMs = await redis.pttl(key);
    // The clock of Redis has stepped back since: the pass is not taken for as long as the step.
    if (leftMs > mostMs) await redis.pexpire(key, mostMs);
    return Math.max(1, Math.min(leftMs, mostMs));
  };
  return {
    takeReconciler: (forMs: number) => take(keys.pass, forMs),
    takeBlobKeeper: (forMs: number) => take(keys.blobPass, forMs),
    /** The pause between two probes of an endpoint in trouble, of which the longest is `mostMs`. */
    takeEndpointProbe: (forMs: number, mostMs: number) => take(keys.endpointProbe, forMs, mostMs),
    /** Ends that pause: the next probe need not wait. */
    endEndpointPause: async () => void (await redis.del(keys.endpointProbe)),
  };
}
