import { type Job, Queue, Worker } from 'bullmq';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { chatOf, type EntryId, jobIdOf, type Keys, type LaneKey, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';
import type { Limits } from '../limits.ts';
import type { Share } from './slots.ts';

/** The data of a job. The message itself stays on the stream. */
export interface TurnJob {
  entry: EntryId;
  chat: LaneKey;
  /** The person who wrote the message; absent if unknown, and in the lanes of commands, where turns are short. */
  person?: number;
  /** The end of the last delay, by the clock of Redis, and the length of that delay; absent unless the job was postponed. */
  untilMs?: number;
  delayMs?: number;
}

/** How a job ended. `parked`: its message waits for a person. */
export type JobEnd = 'parked' | undefined;

/** How often the lock of a running job is renewed within the lock's lifetime. */
const RENEWALS = 3;

/** The delay of BullMQ's own retries after a job threw an error. The turn record, not BullMQ, limits the attempts. */
const RETRY_MS = 1_000;
const MANY = 1_000_000;
/** The tolerated difference between the clocks of two machines. */
const CLOCK_SLACK_MS = 2_000;
/** The maximum number of delayed jobs that `endDelays` reads, beginning with the job whose delay ends first. */
const DELAYS_READ_MAX = 1_000;
const ADDED_AT_ONCE = 500;
/** The number of jobs that are read at once. Redis sends this many ids in a fraction of a millisecond. */
const PAGE = 1_000;
/** For more heads than this, the ids of all jobs are read first, because a lookup calls `getState`, which scans whole lists. */
const SINGLE_LOOKUPS_MAX = 4;

/**
 * The BullMQ queue of one shard. Its jobs are the heads of the lanes. Uses only BullMQ's public API (docs/decisions.md, 17).
 *
 * Contract: every method is idempotent and rejects when Redis cannot be reached.
 */
export interface TurnQueue {
  /** Adds a job for each head that has none. */
  add(heads: readonly Head[]): Promise<void>;
  /**
   * Finds the heads that have no job, or a job that is in none of BullMQ's lists and would never run. Removes such jobs;
   * `broken` is the number of removed jobs.
   */
  missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }>;
  /** Ends the delays of these messages' jobs. Ignores a job that is not delayed. */
  promote(entries: readonly EntryId[]): Promise<void>;
  /** Ends the delays of all jobs. Returns how many jobs were delayed. */
  promoteAll(): Promise<number>;
  /**
   * Ends delays that are over by `nowMs`, the time of Redis, because BullMQ uses processes' clocks. Also ends BullMQ's own
   * retry delays, and delays that begin in the future because the clock of Redis stepped back. Returns how many delays ended.
   */
  endDelays(nowMs: number): Promise<number>;
  /** Delays a running job by `delayMs` from the later of `nowMs` and this process's time. Throw `DelayedError` afterwards. */
  postpone(job: Job<TurnJob>, token: string | undefined, nowMs: number, delayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the queue of a shard. The worker that `openWorker` creates runs the jobs. */
export function openQueue(redis: RedisClient, keys: Keys): TurnQueue {
  const queue = new Queue<TurnJob>(TURNS_QUEUE, {
    connection: redis,
    prefix: keys.queuePrefix,
    defaultJobOptions: {
      attempts: MANY,
      backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
      // The log has every stack trace. BullMQ rewrites all stored traces whenever it adds one, so store at most one.
      stackTraceLimit: 1,
      removeOnComplete: true,
      removeOnFail: true,
    },
  });
  queue.on('error', () => {});
  return {
    async add(heads) {
      for (const slice of inSlices(heads, ADDED_AT_ONCE)) {
        await queue.addBulk(
          slice.map((head) => ({ name: 'turn', data: jobOf(head), opts: { jobId: jobIdOf(head.entry) } })),
        );
      }
    },
    missing: (heads) => findMissing(queue, heads),
    async promote(entries) {
      const jobs = await Promise.all(entries.map((entry) => queue.getJob(jobIdOf(entry))));
      await Promise.all(jobs.map((job) => job && endDelay(job)));
    },
    async promoteAll() {
      const count = await queue.getDelayedCount();
      if (count > 0) await queue.promoteJobs();
      return count;
    },
    async endDelays(nowMs) {
      const jobs = await queue.getJobs('delayed', 0, DELAYS_READ_MAX - 1, true);
      const wrong = jobs.filter(({ data: { untilMs = 0, delayMs = 0 } }) => {
        const beginMs = untilMs - delayMs;
        return untilMs < nowMs - CLOCK_SLACK_MS || beginMs > nowMs + CLOCK_SLACK_MS;
      });
      return (await Promise.all(wrong.map(endDelay))).filter(Boolean).length;
    },
    async postpone(job, token, nowMs, delayMs) {
      await job.updateData({ ...job.data, untilMs: nowMs + delayMs, delayMs });
      // If the clock of this process is ahead, the delay is too long, and `endDelays` ends the delay in time.
      await job.moveToDelayed(Math.max(nowMs, Date.now()) + delayMs, token);
    },
    close: () => queue.close(),
  };
}

function jobOf({ entry, chat, person }: Head): TurnJob {
  return { entry, chat, ...(person !== undefined && chat === chatOf(chat) && { person }) };
}

/**
 * Finds the heads without a usable job. For many heads, first reads the lists page by page, so that no call blocks Redis for
 * long. This may miss a job that moves to another list meanwhile, so each job that was not found is looked up by its id.
 */
async function findMissing(queue: Queue<TurnJob>, heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }> {
  const jobIds = heads.length > SINGLE_LOOKUPS_MAX ? await readJobIds(queue) : new Set<string>();
  const candidates = heads.filter(({ entry }) => !jobIds.has(jobIdOf(entry)));
  const missing: Head[] = [];
  let broken = 0;
  for (const slice of inSlices(candidates, PAGE)) {
    const found = await Promise.all(slice.map(({ entry }) => lookFor(queue, jobIdOf(entry))));
    missing.push(...slice.filter((_, at) => found[at] !== 'there'));
    broken += found.filter((each) => each === 'removed').length;
  }
  return { heads: missing, broken };
}

/** The ids of all waiting, running and delayed jobs. May miss a job that moves between lists during the read. */
async function readJobIds(queue: Queue<TurnJob>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let from = 0; ; from += PAGE) {
    const page = await queue.getRanges(['waiting', 'active', 'delayed'], from, from + PAGE - 1);
    if (page.length === 0) return ids;
    for (const id of page) ids.add(id);
  }
}

/** Looks up a job. Removes a job that is in no list and that no worker runs, since BullMQ adds no other job with that id. */
async function lookFor(queue: Queue<TurnJob>, id: string): Promise<'there' | 'gone' | 'removed'> {
  const job = await queue.getJob(id);
  if (!job) return 'gone';
  if (['waiting', 'active', 'delayed'].includes(await job.getState())) return 'there';
  return (await queue.remove(id)) === 1 ? 'removed' : 'there';
}

/** Ends the delay of a job. Returns false if the job is not delayed. */
async function endDelay(job: Job<TurnJob>): Promise<boolean> {
  try {
    await job.promote();
    return true;
  } catch (error) {
    if (await job.isDelayed()) throw error;
    return false;
  }
}

/** Creates the worker of a shard. The worker takes no jobs until its `run()` is called. */
export function openWorker(
  redis: RedisClient,
  keys: Keys,
  { share, limits }: { share: Share; limits: Pick<Limits, 'lockMs' | 'stalledCheckMs'> },
  processor: (job: Job<TurnJob>, token: string | undefined, signal: AbortSignal | undefined) => Promise<JobEnd>,
): Worker<TurnJob, JobEnd> {
  // BullMQ passes the abort signal only to a processor that declares three parameters.
  const run = async (job: Job<TurnJob>, token?: string, signal?: AbortSignal): Promise<JobEnd> =>
    // A missing `entry` means that Redis has lost the job's data. End the job, so that the reconciler adds a new one.
    job.data.entry === undefined ? undefined : processor(job, token, signal);
  const worker = new TurnWorker(TURNS_QUEUE, run, {
    connection: redis,
    prefix: keys.queuePrefix,
    autorun: false,
    concurrency: share.allowed(),
    lockDuration: limits.lockMs,
    lockRenewTime: limits.lockMs / RENEWALS,
    stalledInterval: limits.stalledCheckMs,
    // Practically no limit, because the turn record limits the attempts.
    maxStalledCount: MANY,
    drainDelay: 5,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost');
  });
  share.onChange(() => adaptConcurrency(worker, share));
  backOff(worker);
  return worker;
}

class TurnWorker extends Worker<TurnJob, JobEnd> {
  /** The longest blocking read, in seconds. BullMQ's default is 10, but our connections are replaced after 8 s of silence. */
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1_000;
  }
}

const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 5_000;

/** Pauses a worker after each error, with growing delays until a job begins. BullMQ itself would retry at once. */
function backOff(worker: Worker<TurnJob, JobEnd>): void {
  let waitMs = BACKOFF_MS_MIN;
  worker.on('active', () => {
    waitMs = BACKOFF_MS_MIN;
  });
  worker.on('error', () => {
    if (worker.isPaused()) return;
    void worker.pause(true);
    setTimeout(() => !worker.closing && void worker.resume(), waitMs).unref();
    waitMs = Math.min(waitMs * 2, BACKOFF_MS_MAX);
  });
}

/** Sets the worker's concurrency to the number of jobs that its shard may have, and wakes the worker if it must fetch more. */
function adaptConcurrency(worker: Worker<TurnJob, JobEnd>, share: Share): void {
  const [previous, allowed] = [worker.concurrency, share.allowed()];
  worker.concurrency = allowed;
  // A worker at its limit fetches the next job only after one of its jobs ends, or after `resume` is called.
  const isAsleep = allowed > previous && share.inHand() >= previous;
  if (!isAsleep || !worker.isRunning() || worker.closing) return;
  void worker.pause(true);
  void worker.resume();
}
