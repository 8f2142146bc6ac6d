import { hostname } from 'node:os';
import { join } from 'node:path';
import type { CacheSpace } from '../../base/cache-space.ts';
import { isRunning } from '../../base/machine.ts';
import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldsOf } from '../../redis/stream.ts';
import { frozenField, hostAndPid } from './process.ts';

/** A worker process that has not shown itself for this long is gone. */
const WORKER_GONE_MS = 30_000;
/** One whose process id is gone from this host, too: in a container, another host may have the same name. */
const MISSING_MS = 5_000;
const TURNS_NAMED_MAX = 10;

/** The messages that a process is answering, and their chats. */
type RunningMessages = ReadonlyMap<EntryId, ChatKey>;

/** What a process keeps of chats in memory, and how much that may be, in bytes. */
type Cached = Pick<CacheSpace, 'usedBytes' | 'maxBytes'>;

/** The heartbeat of a process: its name, its running turns, its cache, and why it cannot export telemetry. */
export interface Self {
  name: string;
  running: RunningMessages;
  cached: Cached;
  /** Empty while telemetry is exported, or is to go nowhere. */
  exportTrouble(): string;
}

/** The newest heartbeat of a process: its cache, and why it cannot export telemetry. */
export type Shown = Cached & { exportTrouble: string };

/** A process that ended uncleanly: what it had last shown to run (JSON), and where it stood still, if it did. */
export interface UncleanEnd {
  name: string;
  seenMs: number;
  turns: string;
  where: string | undefined;
}

/**
 * The list of the worker processes. Who ends cleanly leaves it; who is killed, runs out of memory or stands still does
 * not. It takes two observations to strike somebody: silence, and a process id that is gone or a second look that found
 * the same silence. After a suspended machine wakes up, everybody seems to have been silent.
 *
 * Contract: each method rejects when Redis cannot be used.
 */
export function openWorkerList(
  redis: RedisClient,
  { name, running, cached, exportTrouble }: Self,
  alertOf: (end: UncleanEnd) => Alert,
) {
  const keys = keysOf(0);
  const show = bindScript<number>(redis, join(import.meta.dirname, 'show-worker.lua'));
  const strike = bindScript<0 | 1>(redis, join(import.meta.dirname, 'strike-worker.lua'));
  let silent = new Map<string, string>();
  const tell = async (gone: string, seenMs: string): Promise<void> => {
    const [turns, where] = await redis.hmget(keys.running, gone, frozenField(gone));
    const end = { name: gone, seenMs: Number(seenMs), where: where ?? undefined };
    // A process without this field is of a version that left no list either.
    const alert = turns ? JSON.stringify(alertOf({ ...end, turns })) : '';
    await strike([keys.workers, keys.running, keys.cached, keys.alerts], [gone, seenMs, frozenField(gone), alert]);
  };
  return {
    /** Shows that this process lives, and what runs in it. Returns Redis' time. */
    show: () =>
      show(
        [keys.workers, keys.running, keys.cached, keys.absent],
        [
          name,
          JSON.stringify([...running].slice(0, TURNS_NAMED_MAX)),
          JSON.stringify([cached.usedBytes, cached.maxBytes, exportTrouble()]),
        ],
      ),
    /** Alerts the operator of each process that ended without leaving the list, once for all who see it. */
    async strikeEnded(nowMs: number): Promise<void> {
      const before = silent;
      silent = new Map();
      const quiet = await redis.zrangebyscore(keys.workers, '-inf', nowMs - MISSING_MS, 'WITHSCORES');
      // Seen before the clock stepped back; who lives is back in a second.
      const ahead = await redis.zrangebyscore(keys.workers, nowMs + WORKER_GONE_MS, '+inf', 'WITHSCORES');
      for (const [other, seenMs] of fieldsOf([...quiet, ...ahead])) {
        const isSilent = Math.abs(nowMs - Number(seenMs)) > WORKER_GONE_MS;
        if (other === name) continue;
        const isGone = isGoneHere(other) || (isSilent && before.get(other) === seenMs);
        if (isGone) await tell(other, seenMs);
        else silent.set(other, seenMs);
      }
    },
    /** Leaves the list: a clean end. */
    async leave(): Promise<void> {
      await redis.multi().zrem(keys.workers, name).hdel(keys.running, name).hdel(keys.cached, name).exec();
    },
  };
}

/** Whether a name is of this host, where its process id is of nobody, or of this process after a restart. */
function isGoneHere(name: string): boolean {
  const { host, pid } = hostAndPid(name);
  return host === hostname() && (pid === process.pid || !isRunning(pid));
}

/** How many worker processes have shown themselves lately. Rejects when Redis cannot be reached. */
export async function countWorkers(redis: RedisClient, nowMs: number): Promise<number> {
  return redis.zcount(keysOf(0).workers, nowMs - WORKER_GONE_MS, '+inf');
}

/** Reads the newest heartbeat of each live worker process. Rejects when Redis cannot be reached. */
export async function readShown(redis: RedisClient, nowMs: number): Promise<Shown[]> {
  const { workers, cached } = keysOf(0);
  const [alive, shown] = await Promise.all([
    redis.zrangebyscore(workers, nowMs - WORKER_GONE_MS, '+inf'),
    redis.hgetall(cached),
  ]);
  return alive.flatMap((name) => {
    // The released version shows no trouble.
    const [usedBytes, maxBytes, exportTrouble = ''] = JSON.parse(shown[name] ?? '[]');
    return maxBytes === undefined ? [] : [{ usedBytes, maxBytes, exportTrouble }];
  });
}

/** Whether a worker process of a host is on record. Rejects when Redis cannot be reached. */
export async function hasWorkerOf(redis: RedisClient, host: string): Promise<boolean> {
  const workers = await redis.zrange(keysOf(0).workers, '0', '-1');
  return workers.some((worker) => worker.startsWith(`${host} `));
}
