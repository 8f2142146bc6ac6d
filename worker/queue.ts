import { join } from 'node:path';
import { SpanKind } from '@opentelemetry/api';
import { type Job, Queue, Worker } from 'bullmq';
import { type ChatKey, type EntryId, jobIdOf, type Keys, TURNS_QUEUE } from '../shared/keys.ts';
import type { RedisClient } from '../shared/redis.ts';
import { bindScript } from '../shared/script.ts';
import { jobTelemetry, SPAN, type Telemetry, traceparent } from '../shared/telemetry.ts';
import type { Head } from './lane.ts';

/** A job: which message of which chat. The message itself stays on the stream. */
export interface TurnJob {
  entry: EntryId;
  chat: ChatKey;
}

/** How fast a job of a dead worker is taken over, and how long a running one keeps its lock. */
export interface QueueLimits {
  lockMs: number;
  stalledCheckMs: number;
}

export const QUEUE_LIMITS: QueueLimits = { lockMs: 15_000, stalledCheckMs: 5_000 };

/** A job that fails for a reason of ours (Redis away, a bug) is tried again until its own attempt count ends it. */
const RETRY_MS = 1_000;
const MANY = 1_000_000;
/** Clocks of different machines are never quite the same. */
const CLOCK_SLACK_MS = 2_000;
const DELAYS_SEEN_MAX = 1_000;
/** BullMQ sorts delayed jobs by the time that they are due, in these units. */
const SCORES_PER_MS = 0x1000;
/** Where a job can stand, in the order in which `missing.lua` takes them. */
const PLACES = ['wait', 'paused', 'active', 'delayed', 'prioritized', 'waiting-children', 'completed', 'failed'];

/**
 * The queue of one shard, as the flow sees it: heads go in.
 *
 * Contract: every method is idempotent and rejects when Redis cannot be reached.
 */
export interface TurnQueue {
  /** Makes each head a job. A head that is a job already is left alone. */
  add(heads: readonly Head[]): Promise<void>;
  /**
   * Those of these heads that are no job. A job that BullMQ would never run, since it stands in none of its lists, is
   * taken out of the way first: `broken` of them.
   */
  missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }>;
  /** Ends the delays of these messages' jobs. One that does not wait is left alone. */
  hurry(entries: readonly EntryId[]): Promise<void>;
  /**
   * Sets each delay again that seems to begin in the future: BullMQ counts delays by the clock of the process that sets
   * them, and a clock that was ahead would keep a message waiting long after it is right again. A delay only ever gets
   * shorter, so processes of different clocks do not undo each other's work. Answers how many were set again.
   */
  correctDelays(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

/** Opens the queue of a shard for adding. */
export function openQueue(redis: RedisClient, keys: Keys, telemetry: Telemetry): TurnQueue {
  const queue = new Queue<TurnJob>(TURNS_QUEUE, {
    connection: redis,
    prefix: keys.queuePrefix,
    ...(telemetry.queue && { telemetry: telemetry.queue }),
    defaultJobOptions: {
      attempts: MANY,
      backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
      // Where it threw is logged each time; each stack that is kept is written again with each that follows.
      stackTraceLimit: 1,
      removeOnComplete: true,
      removeOnFail: true,
    },
  });
  queue.on('error', () => {});
  const missing = bindScript<[number[], number]>(redis, join(import.meta.dirname, 'scripts', 'missing.lua'));
  return {
    async add(heads) {
      if (heads.length === 0) return;
      const parents = await Promise.all(heads.map((head) => announce(telemetry, head)));
      await queue.addBulk(
        heads.map(({ entry, chat }, index) => ({
          name: 'turn',
          data: { entry, chat },
          opts: { jobId: jobIdOf(entry), telemetry: jobTelemetry(parents[index] ?? '') },
        })),
      );
    },
    async missing(heads) {
      if (heads.length === 0) return { heads: [], broken: 0 };
      const at = [...PLACES.map((place) => queue.toKey(place)), keys.absent];
      const [found, broken] = await missing(at, [queue.toKey(''), ...heads.map(({ entry }) => jobIdOf(entry))]);
      return { heads: found.flatMap((position) => heads[position - 1] ?? []), broken };
    },
    async hurry(entries) {
      const jobs = await Promise.all(entries.map((entry) => queue.getJob(jobIdOf(entry))));
      await Promise.all(jobs.map((job) => job && whileDelayed(job, () => job.promote())));
    },
    async correctDelays(nowMs) {
      const latest = nowMs + CLOCK_SLACK_MS;
      const above = [queue.toKey('delayed'), '+inf', latest * SCORES_PER_MS] as const;
      const far = await redis.zrevrangebyscore(...above, 'WITHSCORES', 'LIMIT', 0, DELAYS_SEEN_MAX);
      const delayed = Array.from({ length: far.length / 2 }, (_, at) => ({
        id: far[2 * at] ?? '',
        dueMs: Number(far[2 * at + 1]) / SCORES_PER_MS,
      }));
      const corrected = await Promise.all(delayed.map(({ id, dueMs }) => correctDelay(queue, id, dueMs, latest)));
      return corrected.filter(Boolean).length;
    },
    close: () => queue.close(),
  };
}

/** A job whose delay began after `latest` waits its delay from now on. Answers whether that was so. */
async function correctDelay(queue: Queue<TurnJob>, id: string, dueMs: number, latest: number): Promise<boolean> {
  const job = await queue.getJob(id);
  if (!job || dueMs - job.delay <= latest) return false;
  return whileDelayed(job, () => job.changeDelay(job.delay));
}

/** Changes a job that waits out a delay. Answers false when it does not, or does not any more. */
async function whileDelayed(job: Job<TurnJob>, change: () => Promise<void>): Promise<boolean> {
  try {
    await change();
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
  telemetry: Telemetry,
  options: { concurrency: number; limits: QueueLimits },
  processor: (job: Job<TurnJob>, token: string | undefined, signal: AbortSignal | undefined) => Promise<void>,
): Worker<TurnJob> {
  // BullMQ gives a processor its abort signal only when it declares three parameters.
  const worker = new Worker<TurnJob>(TURNS_QUEUE, (job, token, signal) => processor(job, token, signal), {
    connection: redis,
    prefix: keys.queuePrefix,
    ...(telemetry.queue && { telemetry: telemetry.queue }),
    autorun: false,
    concurrency: options.concurrency,
    lockDuration: options.limits.lockMs,
    stalledInterval: options.limits.stalledCheckMs,
    // A stalled job is run again however often it stalls: attempts are counted in the turn record, where they last.
    maxStalledCount: MANY,
    drainDelay: 5,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost');
  });
  return worker;
}

/** One span per message in the message's own trace; BullMQ's bulk span would join them all into a foreign one. */
function announce(telemetry: Telemetry, { entry, traceparent: parent }: Head): Promise<string> {
  const attributes = { 'messaging.system': 'redis', 'messaging.message.id': entry };
  return telemetry.span(SPAN.enqueue, attributes, async () => traceparent(), { kind: SpanKind.PRODUCER, parent });
}
