import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../shared/base/machine.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { fieldsOf } from '../../shared/redis/stream.ts';
import { frozenField, hostAndPid } from '../../shared/state/process/process.ts';
import { uncleanEndAlert } from '../alerts/causes/watch.ts';

/** A worker process that has not shown itself for this long is gone. */
export const WORKER_GONE_MS = 30_000;
/** One whose process id is gone from this host, too: in a container, another host may have the same name. */
const MISSING_MS = 5_000;
const TURNS_NAMED_MAX = 10;

/** The messages that a process is answering, and their chats. */
export type RunningMessages = ReadonlyMap<EntryId, ChatKey>;

/** The worker processes of the installation, as one of them sees it. */
export interface WorkerList {
  /** Shows that this process lives, and what runs in it. Returns Redis' time. */
  show(): Promise<number>;
  /** Alerts the operator of each process that ended without leaving the list, once for all who see it. */
  strikeEnded(nowMs: number): Promise<void>;
  /** Leaves the list: a clean end. */
  leave(): Promise<void>;
}

/**
 * The list of the worker processes. Who ends cleanly leaves it; who is killed, runs out of memory or stands still does
 * not. It takes two observations to strike somebody: silence, and a process id that is gone or a second look that found
 * the same silence. After a suspended machine wakes up, everybody seems to have been silent.
 *
 * Contract: each method rejects when Redis cannot be used.
 */
export function openWorkerList(redis: RedisClient, name: string, running: RunningMessages): WorkerList {
  const { workers, running: runningKey, alerts } = keysOf(0);
  const show = bindScript<number>(redis, join(import.meta.dirname, 'show-worker.lua'));
  const strike = bindScript<number>(redis, join(import.meta.dirname, 'strike-worker.lua'));
  let silent = new Map<string, string>();
  const tell = async (gone: string, seenMs: string): Promise<void> => {
    const [turns, where] = await redis.hmget(runningKey, gone, frozenField(gone));
    // Who noted nothing is of a version that left no list either.
    const alert = turns ? JSON.stringify(uncleanEndAlert({ name: gone, seenMs: Number(seenMs), turns, where })) : '';
    await strike([workers, runningKey, alerts], [gone, seenMs, frozenField(gone), alert]);
  };
  return {
    show: () => show([workers, runningKey], [name, JSON.stringify([...running].slice(0, TURNS_NAMED_MAX))]),
    async strikeEnded(nowMs) {
      const before = silent;
      silent = new Map();
      const quiet = await redis.zrangebyscore(workers, '-inf', nowMs - MISSING_MS, 'WITHSCORES');
      // Seen before the clock stepped back; who lives is back in a second.
      const ahead = await redis.zrangebyscore(workers, nowMs + WORKER_GONE_MS, '+inf', 'WITHSCORES');
      for (const [other, seenMs] of fieldsOf([...quiet, ...ahead])) {
        const isSilent = Math.abs(nowMs - Number(seenMs)) > WORKER_GONE_MS;
        if (other === name) continue;
        const isGone = isGoneHere(other) || (isSilent && before.get(other) === seenMs);
        if (isGone) await tell(other, seenMs);
        else silent.set(other, seenMs);
      }
    },
    async leave() {
      await redis.multi().zrem(workers, name).hdel(runningKey, name).exec();
    },
  };
}

/** Whether a name is of this host, where its process id is of nobody, or of this process after a restart. */
function isGoneHere(name: string): boolean {
  const { host, pid } = hostAndPid(name);
  return host === hostname() && (pid === process.pid || !isRunning(pid));
}
