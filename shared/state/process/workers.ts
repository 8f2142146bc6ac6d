import { hostname } from 'node:os';
import type { CacheSpace } from '../../base/cache-space.ts';
import { isRunning } from '../../base/machine.ts';
import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldsOf } from '../../redis/stream.ts';
import { frozenField, hostAndPid } from './process.ts';

/** A worker process without a heartbeat for this long counts as dead. */
const WORKER_GONE_MS = 30_000;
/** A worker of this host counts as dead after this time if no process has its id. Not 0: containers may share a host name. */
const MISSING_MS = 5_000;
const TURNS_NAMED_MAX = 10;

/** The messages that a process is answering, each with its chat. */
type RunningMessages = ReadonlyMap<EntryId, ChatKey>;

/** How much of its cache of chats a process uses. */
type CacheUse = Pick<CacheSpace, 'usedBytes' | 'maxBytes'>;

/** The state of a process that its heartbeat reports. */
export interface Self {
  name: string;
  running: RunningMessages;
  cached: CacheUse;
  /** The reason why telemetry cannot be exported; empty without trouble. */
  exportTrouble(): string;
}

/** The part of a process's newest heartbeat that reports show. */
export type WorkerReport = CacheUse & { exportTrouble: string };

/** The end of a process that was killed, ran out of memory or froze. */
export interface UncleanEnd {
  name: string;
  /** The time of the process's last heartbeat. */
  seenMs: number;
  /** The messages that the process was answering at its last heartbeat (JSON). */
  turns: string;
  /** The place in the code at which the process froze, if it did. */
  where: string | undefined;
}

/**
 * The list of the worker processes. A process removes itself at a clean end. If a process is killed, runs out of memory or
 * freezes, another process removes it after two observations: its heartbeat is old, and either its process id is gone or
 * there is still no new heartbeat at a second look. One observation is not enough, because all heartbeats are old after a
 * suspended machine wakes up.
 *
 * Contract: each method rejects when Redis cannot be used.
 */
export function openWorkerList(
  redis: RedisClient,
  { name, running, cached, exportTrouble }: Self,
  alertOf: (end: UncleanEnd) => Alert,
) {
  const keys = keysOf(0);
  const show = bindScript<number>(redis, `${import.meta.dirname}/show-worker.lua`);
  const strike = bindScript<0 | 1>(redis, `${import.meta.dirname}/strike-worker.lua`);
  let silent = new Map<string, string>();
  const reportEnd = async (process: string, seenMs: string): Promise<void> => {
    const [turns, where] = await redis.hmget(keys.running, process, frozenField(process));
    const end = { name: process, seenMs: Number(seenMs), where: where ?? undefined };
    // Old versions write no `running` field and stay on the list after a clean end, so their end raises no alert.
    const alert = turns ? JSON.stringify(alertOf({ ...end, turns })) : '';
    await strike(
      [keys.workers, keys.running, keys.cached, keys.alerts],
      [process, seenMs, frozenField(process), alert],
    );
  };
  return {
    /** Writes the heartbeat of this process. Returns Redis' time. */
    show: () =>
      show(
        [keys.workers, keys.running, keys.cached, keys.absent],
        [
          name,
          JSON.stringify([...running].slice(0, TURNS_NAMED_MAX)),
          JSON.stringify([cached.usedBytes, cached.maxBytes, exportTrouble()]),
        ],
      ),
    /** Removes uncleanly ended processes from the list. Queues an alert about each of them that is not of an old version. */
    async strikeEnded(nowMs: number): Promise<void> {
      const silentBefore = silent;
      silent = new Map();
      const old = await redis.zrangebyscore(keys.workers, '-inf', nowMs - MISSING_MS, 'WITHSCORES');
      // Heartbeats from the future: the clock has stepped back since. A live process writes a new heartbeat within a second.
      const future = await redis.zrangebyscore(keys.workers, nowMs + WORKER_GONE_MS, '+inf', 'WITHSCORES');
      for (const [other, seenMs] of fieldsOf([...old, ...future])) {
        const isSilent = Math.abs(nowMs - Number(seenMs)) > WORKER_GONE_MS;
        if (other === name) continue;
        const isGone = isGoneHere(other) || (isSilent && silentBefore.get(other) === seenMs);
        if (isGone) await reportEnd(other, seenMs);
        else silent.set(other, seenMs);
      }
    },
    /** Removes this process from the list, at its clean end. */
    async leave(): Promise<void> {
      await redis.multi().zrem(keys.workers, name).hdel(keys.running, name).hdel(keys.cached, name).exec();
    },
  };
}

/** Whether a process of this host is dead: no process has its id, or the calling process now has the id. */
function isGoneHere(name: string): boolean {
  const { host, pid } = hostAndPid(name);
  return host === hostname() && (pid === process.pid || !isRunning(pid));
}

/** Counts the live worker processes. Rejects when Redis cannot be reached. */
export async function countWorkers(redis: RedisClient, nowMs: number): Promise<number> {
  return redis.zcount(keysOf(0).workers, nowMs - WORKER_GONE_MS, '+inf');
}

/** Reads the newest reports of the live worker processes that wrote one. Rejects when Redis cannot be reached. */
export async function readWorkerReports(redis: RedisClient, nowMs: number): Promise<WorkerReport[]> {
  const { workers, cached } = keysOf(0);
  const [alive, reports] = await Promise.all([
    redis.zrangebyscore(workers, nowMs - WORKER_GONE_MS, '+inf'),
    redis.hgetall(cached),
  ]);
  return alive.flatMap((name) => {
    // Heartbeats of an earlier version have no `exportTrouble`.
    const [usedBytes, maxBytes, exportTrouble = ''] = JSON.parse(reports[name] ?? '[]');
    return maxBytes === undefined ? [] : [{ usedBytes, maxBytes, exportTrouble }];
  });
}

/** Whether the list has a worker process of a host, alive or not. Rejects when Redis cannot be reached. */
export async function hasWorkerOf(redis: RedisClient, host: string): Promise<boolean> {
  const workers = await redis.zrange(keysOf(0).workers, '0', '-1');
  return workers.some((worker) => worker.startsWith(`${host} `));
}
