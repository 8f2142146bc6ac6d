import { type Job, Queue, Worker } from 'bullmq';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { chatOf, type EntryId, jobIdOf, type Keys, type LaneKey, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';
import type { Limits } from '../limits.ts';
import type { Share } from './slots.ts';

/** A job: which message of which chat. The message itself stays on the stream. */
export interface TurnJob {
  entry: EntryId;
  chat: LaneKey;
  /** Who wrote it; absent where that is not known, and for commands, which take no long turn. */
  person?: number;
  /** When its last delay ends, by the clock of Redis, and how long that delay is; absent where it was never put off. */
  untilMs?: number;
  delayMs?: number;
}

/** `parked`: the message of the job waits for a person. */
export type JobEnd = 'parked' | undefined;

/** How many times a lock is renewed while it lasts. */
const RENEWALS = 3;

/**
 * A job that fails for an internal reason (Redis unreachable, a bug) is retried until its own attempt count ends it.
 */
const RETRY_MS = 1_000;
const MANY = 1_000_000;
/** The difference between clocks of machines that is tolerated. */
const CLOCK_SLACK_MS = 2_000;
/** The most delays that one pass reads; those that are due first. */
const DELAYS_SEEN_MAX = 1_000;
const ADDED_AT_ONCE = 500;
/** As many ids as Redis sends in a fraction of a millisecond. */
const PAGE = 1_000;
/** Up to this many heads are looked up singly. `getState` scans whole lists, so for more all job ids are read once. */
const SINGLE_LOOKUPS_MAX = 4;

/**
 * The queue of one shard, as the flow sees it: heads go in. Of BullMQ it uses what is public (docs/decisions.md, 17).
 *
 * Contract: every method is idempotent and rejects when Redis cannot be reached.
 */
export interface TurnQueue {
  /** Makes each head a job. A head that is a job already is left alone. */
  add(heads: readonly Head[]): Promise<void>;
  /**
   * The given heads that are not jobs. A job that BullMQ would never run, because it is in none of its lists, is
   * removed first, once nobody runs it: `broken` counts these.
   */
  missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }>;
  /** Ends the delays of these messages' jobs. A job without a delay is left alone. */
  promote(entries: readonly EntryId[]): Promise<void>;
  /** Ends all delays. Returns how many there were. */
  promoteAll(): Promise<number>;
  /**
   * Ends the delays that are over by `nowMs`, the time of Redis: BullMQ counts them by the clocks of processes. Also ends
   * those that seem to begin in the future, because the clock of Redis stepped back. Returns how many there were.
   */
  endDelays(nowMs: number): Promise<number>;
  /** Delays a running job, by the time of Redis or, if later, of this process; `DelayedError` must then be thrown. */
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
      // Each occurrence is logged; BullMQ rewrites every stack that it keeps whenever it adds another.
      stackTraceLimit: 1,
      removeOnComplete: true,
      removeOnFail: true,
    },
  });
  queue.on('error', () => {});
  return {
    async add(heads) {
      for (const some of inSlices(heads, ADDED_AT_ONCE)) {
        await queue.addBulk(
          some.map((head) => ({ name: 'turn', data: jobOf(head), opts: { jobId: jobIdOf(head.entry) } })),
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
      const delayed = await queue.getJobs('delayed', 0, DELAYS_SEEN_MAX - 1, true);
      const wrong = delayed.filter(({ data: { untilMs = 0, delayMs = 0 } }) => {
        const beginMs = untilMs - delayMs;
        return untilMs < nowMs - CLOCK_SLACK_MS || beginMs > nowMs + CLOCK_SLACK_MS;
      });
      return (await Promise.all(wrong.map(endDelay))).filter(Boolean).length;
    },
    async postpone(job, token, nowMs, delayMs) {
      await job.updateData({ ...job.data, untilMs: nowMs + delayMs, delayMs });
      // With a clock ahead, the job waits until `endDelays`.
      await job.moveToDelayed(Math.max(nowMs, Date.now()) + delayMs, token);
    },
    close: () => queue.close(),
  };
}

function jobOf({ entry, chat, person }: Head): TurnJob {
  return { entry, chat, ...(person !== undefined && chat === chatOf(chat) && { person }) };
}

/**
 * Finds the heads without a job. Reads the lists page by page, so that no call blocks Redis for long. Jobs move
 * meanwhile, so each head that was not found is looked up once more by its id.
 */
async function findMissing(queue: Queue<TurnJob>, heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }> {
  const listed = heads.length > SINGLE_LOOKUPS_MAX ? await listedJobs(queue) : new Set<string>();
  const doubtful = heads.filter(({ entry }) => !listed.has(jobIdOf(entry)));
  const missing: Head[] = [];
  let broken = 0;
  for (const few of inSlices(doubtful, PAGE)) {
    const found = await Promise.all(few.map(({ entry }) => lookFor(queue, jobIdOf(entry))));
    missing.push(...few.filter((_, at) => found[at] !== 'there'));
    broken += found.filter((each) => each === 'removed').length;
  }
  return { heads: missing, broken };
}

/** The ids of all jobs that BullMQ would run. One that moves meanwhile may be overlooked. */
async function listedJobs(queue: Queue<TurnJob>): Promise<Set<string>> {
  const listed = new Set<string>();
  for (let from = 0; ; from += PAGE) {
    const page = await queue.getRanges(['waiting', 'active', 'delayed'], from, from + PAGE - 1);
    if (page.length === 0) return listed;
    for (const id of page) listed.add(id);
  }
}

/** Looks up a job. One that is in no list is removed, unless a worker runs it: adding it again would change nothing. */
async function lookFor(queue: Queue<TurnJob>, id: string): Promise<'there' | 'gone' | 'removed'> {
  const job = await queue.getJob(id);
  if (!job) return 'gone';
  if (['waiting', 'active', 'delayed'].includes(await job.getState())) return 'there';
  return (await queue.remove(id)) === 1 ? 'removed' : 'there';
}

/** Returns false when the job is not, or no longer, delayed. */
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
    // Redis lost what the job holds: it ends, and the reconciler makes it anew.
    job.data.entry === undefined ? undefined : processor(job, token, signal);
  const worker = new TurnWorker(TURNS_QUEUE, run, {
    connection: redis,
    prefix: keys.queuePrefix,
    autorun: false,
    concurrency: share.allowed(),
    lockDuration: limits.lockMs,
    lockRenewTime: limits.lockMs / RENEWALS,
    stalledInterval: limits.stalledCheckMs,
    // A stalled job runs again however often it stalls: the turn record counts attempts, and lasts.
    maxStalledCount: MANY,
    drainDelay: 5,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost');
  });
  share.onChange(() => follow(worker, share));
  backOff(worker);
  return worker;
}

class TurnWorker extends Worker<TurnJob, JobEnd> {
  /** In seconds. BullMQ waits for up to 10 while a job is delayed, but our connections are replaced after 8 s of silence. */
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1_000;
  }
}

const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 5_000;

/** BullMQ asks for the next job again at once when Redis refuses it. This pauses it, ever longer until a job begins. */
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

/** Leaves jobs beyond this process's share to other processes. */
function follow(worker: Worker<TurnJob, JobEnd>, share: Share): void {
  const [before, allowed] = [worker.concurrency, share.allowed()];
  worker.concurrency = allowed;
  // A worker at its limit looks for more jobs only when one of its own ends, unless it is resumed.
  const isAsleep = allowed > before && share.inHand() >= before;
  if (!isAsleep || !worker.isRunning() || worker.closing) return;
  void worker.pause(true);
  void worker.resume();
}
