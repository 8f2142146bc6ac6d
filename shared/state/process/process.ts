import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';

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
