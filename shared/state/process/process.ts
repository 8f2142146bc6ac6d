import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type RedisClient, timeLeftMs } from '../../redis/connection.ts';
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

/** Why Redis refuses writes, in its own words; `undefined` when it takes them. A server can answer and still refuse. */
export function writeRefusal(redis: RedisClient): Promise<string | undefined> {
  return redis.set(keysOf(0).checked, '', 'PX', 1_000).then(
    () => undefined,
    (error: Error) => error.message.split(' ').slice(0, 8).join(' '),
  );
}

/**
 * Passes of a shard, or of the installation, that one process at a time makes for all. Contract: each `take…` returns 0 when
 * the pass is taken for that long, or for how long another process still has it; it rejects when Redis cannot be reached.
 */
export function createPasses(redis: RedisClient, keys: Keys) {
  const take = async (key: string, forMs: number, mostMs = forMs): Promise<number> => {
    if ((await redis.set(key, '', 'PX', forMs, 'NX')) === 'OK') return 0;
    return Math.max(1, await timeLeftMs(redis, key, mostMs));
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
