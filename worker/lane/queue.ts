import { type Job, Queue, Worker } from 'bullmq';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { chatOf, type EntryId, jobIdOf, type Keys, type LaneKey, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';
import type { Limits } from '../limits.ts';
import type { Share } from './slots.ts';

/** The data of a job: the ids of its message and lane. The message itself stays on the stream. */
export interface TurnJob {
  entry: EntryId;
  chat: LaneKey;
  /** The person who wrote the message; absent if unknown, and for commands, which take no long turn. */
  person?: number;
  /** The end of the last delay, by the clock of Redis, and its length; absent if the job was never delayed. */
  untilMs?: number;
  delayMs?: number;
}

/** `parked`: the message of the job waits for a person. */
export type JobEnd = 'parked' | undefined;

/** How many renewals fit into the lifetime of a lock. */
const RENEWALS = 3;

/** The delay of BullMQ's own retries, after an internal error. The turn record, not BullMQ, limits the attempts. */
const RETRY_MS = 1_000;
const MANY = 1_000_000;
/** The tolerated difference between the clocks of two machines. */
const CLOCK_SLACK_MS = 2_000;
/** The most delays that one pass reads, the earliest first. */
const DELAYS_READ_MAX = 1_000;
const ADDED_AT_ONCE = 500;
/** As many ids as Redis sends in a fraction of a millisecond. */
const PAGE = 1_000;
/** For more heads, all job ids are read once: looking up a head calls `getState`, which scans whole lists. */
const SINGLE_LOOKUPS_MAX = 4;

/**
 * The BullMQ queue of one shard, which contains the heads of its lanes. Uses only BullMQ's public API (docs/decisions.md, 17).
 *
 * Contract: every method is idempotent and rejects when Redis cannot be reached.
 */
export interface TurnQueue {
  /** Makes each head a job, unless it is one already. */
  add(heads: readonly Head[]): Promise<void>;
  /**
   * Finds the heads without a job. First removes jobs that BullMQ would never run, because they are in none of its lists
   * and no worker runs them: `broken` counts these.
   */
  missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }>;
  /** Ends the delays of these messages' jobs, if they have one. */
  promote(entries: readonly EntryId[]): Promise<void>;
  /** Ends all delays. Returns their number. */
  promoteAll(): Promise<number>;
  /**
   * Ends the delays that are over by `nowMs`, the time of Redis, since BullMQ uses the clocks of processes. Also ends
   * delays that seem to begin in the future, because the clock of Redis stepped back. Returns their number.
   */
  endDelays(nowMs: number): Promise<number>;
  /** Delays a running job, by the time of Redis or, if later, of this process. Throw `DelayedError` afterwards. */
  postpone(job: Job<TurnJob>, token: string | undefined, nowMs: number, delayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the queue of a shard for adding. */
export function openQueue(redis: RedisClient, keys: Keys): TurnQueue {
  const queue = new Queue<TurnJob>(TURNS_QUEUE, {
    connection: redis,
    prefix: keys.queuePrefix,
    defaultJobOptions: {
      attempts: MANY,
      backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
      // The log has every stack. BullMQ rewrites all stored stacks whenever it adds one.
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
      // If this process's clock is ahead, `endDelays` ends the delay in time.
      await job.moveToDelayed(Math.max(nowMs, Date.now()) + delayMs, token);
    },
    close: () => queue.close(),
  };
}

function jobOf({ entry, chat, person }: Head): TurnJob {
  return { entry, chat, ...(person !== undefined && chat === chatOf(chat) && { person }) };
}

/**
 * Finds the heads without a job. Reads the lists page by page, so that no call blocks Redis for long. A job that moves
 * meanwhile may be missed, so this looks up each missing head again by its id.
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

/** The ids of all jobs that BullMQ would run. May miss a job that moves meanwhile. */
async function readJobIds(queue: Queue<TurnJob>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let from = 0; ; from += PAGE) {
    const page = await queue.getRanges(['waiting', 'active', 'delayed'], from, from + PAGE - 1);
    if (page.length === 0) return ids;
    for (const id of page) ids.add(id);
  }
}

/** Looks up a job. Removes a job that is in no list, unless a worker runs it, since BullMQ would ignore a second `add`. */
async function lookFor(queue: Queue<TurnJob>, id: string): Promise<'there' | 'gone' | 'removed'> {
  const job = await queue.getJob(id);
  if (!job) return 'gone';
  if (['waiting', 'active', 'delayed'].includes(await job.getState())) return 'there';
  return (await queue.remove(id)) === 1 ? 'removed' : 'there';
}

/** Ends the delay of a job. Returns false if the job has none. */
async function endDelay(job: Job<TurnJob>): Promise<boolean> {
  try {
    await job.promote();
    return true;
  } catch (error) {
    if (await job.isDelayed()) throw error;
    return false;
  }
}

/** Opens the worker of a shard. It does not run until `run()` is called. */
export function openWorker(
  redis: RedisClient,
  keys: Keys,
  { share, limits }: { share: Share; limits: Pick<Limits, 'lockMs' | 'stalledCheckMs'> },
  processor: (job: Job<TurnJob>, token: string | undefined, signal: AbortSignal | undefined) => Promise<JobEnd>,
): Worker<TurnJob, JobEnd> {
  // BullMQ gives a processor its abort signal only when it declares three parameters.
  const run = async (job: Job<TurnJob>, token?: string, signal?: AbortSignal): Promise<JobEnd> =>
    // Redis lost the data of this job: end the job, so that the reconciler adds it again.
    job.data.entry === undefined ? undefined : processor(job, token, signal);
  const worker = new TurnWorker(TURNS_QUEUE, run, {
    connection: redis,
    prefix: keys.queuePrefix,
    autorun: false,
    concurrency: share.allowed(),
    lockDuration: limits.lockMs,
    lockRenewTime: limits.lockMs / RENEWALS,
    stalledInterval: limits.stalledCheckMs,
    // Without a limit, because the turn record counts the attempts.
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
  /** In seconds. BullMQ's default is up to 10, but our connections are replaced after 8 s of silence. */
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1_000;
  }
}

const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 5_000;

/** Pauses a worker after an error, with growing delays until a job begins. BullMQ itself would retry at once. */
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

/** Adapts the worker's concurrency to this process's share of slots. */
function adaptConcurrency(worker: Worker<TurnJob, JobEnd>, share: Share): void {
  const [previous, allowed] = [worker.concurrency, share.allowed()];
  worker.concurrency = allowed;
  // A worker at its limit fetches the next job only when one of its jobs ends, or when `resume` is called.
  const isAsleep = allowed > previous && share.inHand() >= previous;
  if (!isAsleep || !worker.isRunning() || worker.closing) return;
  void worker.pause(true);
  void worker.resume();
}
