import { type Job, Queue } from 'bullmq';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type EntryId, entryOfJob, jobIdOf, type Keys, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import type { TurnJob } from './queue.ts';

/** How many jobs are in each state. */
export interface JobCounts {
  waiting: number;
  active: number;
  delayed: number;
}

/** BullMQ's queues, by connection and key prefix. A queue adds listeners to its connection, so each queue is created once. */
const queues = new WeakMap<RedisClient, Map<string, Queue<TurnJob>>>();

/** Binds the view of a shard's jobs to a connection. Contract: each method rejects when Redis cannot be reached. */
export function viewJobs(redis: RedisClient, keys: Keys) {
  // While Redis is unreachable, a call of BullMQ's queue waits. This command rejects instead, so that the caller gets an error.
  const open = async (): Promise<Queue<TurnJob>> => {
    await redis.exists(keys.lanes);
    return queueOf(redis, keys.queuePrefix);
  };
  return {
    async counts(): Promise<JobCounts> {
      const counts = await (await open()).getJobCounts('waiting', 'active', 'delayed');
      return { waiting: 0, active: 0, delayed: 0, ...counts };
    },
    /** The message whose job a worker takes next; `undefined` if no job waits. */
    next: async (): Promise<EntryId | undefined> =>
      (await (await open()).getRanges(['waiting'], 0, 0, true)).map(entryOfJob)[0],
    /** The messages whose jobs run, at most `limit` of them. */
    active: async (limit: number): Promise<EntryId[]> =>
      (await (await open()).getRanges(['active'], 0, limit - 1)).map(entryOfJob),
    /** The state of a message's job, and the end of the job's last delay; `undefined` if there is no job in these states. */
    async find(entry: EntryId): Promise<{ state: keyof JobCounts; untilMs: number } | undefined> {
      const job = await (await open()).getJob(jobIdOf(entry));
      const state = await job?.getState();
      if (state !== 'waiting' && state !== 'active' && state !== 'delayed') return undefined;
      const { data, delay, timestamp, processedOn = timestamp } = job as Job<TurnJob>;
      return { state, untilMs: Math.max(data.untilMs ?? 0, processedOn + delay) };
    },
  };
}

function queueOf(redis: RedisClient, prefix: string): Queue<TurnJob> {
  const byPrefix = queues.get(redis) ?? new Map<string, Queue<TurnJob>>();
  queues.set(redis, byPrefix);
  const queue =
    byPrefix.get(prefix) ?? new Queue<TurnJob>(TURNS_QUEUE, { connection: redis, prefix, skipMetasUpdate: true });
  if (!byPrefix.has(prefix)) queue.on('error', () => {});
  byPrefix.set(prefix, queue);
  return queue;
}
