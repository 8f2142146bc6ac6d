import { join } from 'node:path';
import { SpanKind } from '@opentelemetry/api';
import { type Job, Queue, Worker } from 'bullmq';
import { jobTelemetry, SPAN, type Telemetry, traceparent } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type EntryId, jobIdOf, type Keys, type LaneKey, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { inSlices } from '../../shared/redis/slices.ts';
import { Handover } from './handover.ts';
import type { Head } from './head.ts';
import { keepJobSpans } from './job-spans.ts';
import { bindFindMissing } from './missing-jobs.ts';
import type { Share } from './slots.ts';

/** A job: which message of which chat. The message itself stays on the stream. */
export interface TurnJob {
  entry: EntryId;
  chat: LaneKey;
}

/**
 * How fast a dead worker's job is taken over: once its lock has expired, at the next check, whoever makes it. Two
 * thirds of the lock are what a busy event loop or a Redis that is away may take; past that the job runs again, fenced.
 */
export interface QueueLimits {
  lockMs: number;
  stalledCheckMs: number;
}

export const QUEUE_LIMITS: QueueLimits = { lockMs: 6_000, stalledCheckMs: 1_000 };
/** How many times a lock is renewed while it lasts. */
const RENEWALS = 3;

/**
 * A job that fails for an internal reason (Redis unreachable, a bug) is retried until its own attempt count ends it.
 */
const RETRY_MS = 1_000;
const MANY = 1_000_000;
/** Clocks of different machines never agree exactly. */
const CLOCK_SLACK_MS = 2_000;
const DELAYS_SEEN_MAX = 1_000;
/** Longer than any version lets a lock last. */
const LOCK_MS_MAX = 30_000;
/** Jobs that are added at once. */
const ADDED_AT_ONCE = 500;

/**
 * The queue of one shard, as the flow sees it: heads go in.
 *
 * Contract: every method is idempotent and rejects when Redis cannot be reached.
 */
export interface TurnQueue {
  /** Makes each head a job. A head that is a job already is left alone. */
  add(heads: readonly Head[]): Promise<void>;
  /**
   * The given heads that are not jobs. A job that BullMQ would never run, because it is in none of its lists, is
   * removed first: `broken` counts these.
   */
  missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }>;
  /** Ends the delays of these messages' jobs. A job without a delay is left alone. */
  promote(entries: readonly EntryId[]): Promise<void>;
  /**
   * Corrects delays by the time of Redis. A delay set by a clock that was ahead starts anew, and only ever gets
   * shorter. A delay that is over but still waits, because a clock is behind, is ended. A process whose own clock is
   * ahead of `nowMs`, the time of Redis, leaves the correction to others: it would at once end a delay that it had just
   * restarted. Returns how many there were. Locks that would last for as long as a clock has stepped back are shortened.
   */
  correctDelays(nowMs: number): Promise<{ begunAnew: number; ended: number }>;
  /** Delays a running job, by the time of Redis or, if later, of this process; `DelayedError` must then be thrown. */
  postpone(job: Job<TurnJob>, token: string | undefined, nowMs: number, delayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the queue of a shard for adding. With a hand-over, a worker in this process takes a job as it is added. */
export function openQueue(
  redis: RedisClient,
  keys: Keys,
  telemetry: Telemetry,
  handover = new Handover(redis),
): TurnQueue {
  const options = {
    connection: redis,
    prefix: keys.queuePrefix,
    ...(telemetry.queue && { telemetry: telemetry.queue }),
    defaultJobOptions: {
      attempts: MANY,
      backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
      // Each occurrence is logged; BullMQ rewrites every stack that it keeps whenever it adds another.
      stackTraceLimit: 1,
      removeOnComplete: true,
      removeOnFail: true,
    },
  };
  const queue = new Queue<TurnJob>(TURNS_QUEUE, options, handover.queueSide);
  keepJobSpans(queue);
  queue.on('error', () => {});
  const scripts = import.meta.dirname;
  const missing = bindFindMissing(redis, (name) => queue.toKey(name), keys.absent);
  const locks = bindScript<number>(redis, join(scripts, 'locks.lua'));
  const delays = bindScript<[number, string[]]>(redis, join(scripts, 'delays.lua'));
  return {
    async add(heads) {
      for (const some of inSlices(heads, ADDED_AT_ONCE)) {
        const parents = await Promise.all(some.map((head) => announce(telemetry, head)));
        await queue.addBulk(
          some.map(({ entry, chat }, index) => ({
            name: 'turn',
            data: { entry, chat },
            opts: { jobId: jobIdOf(entry), telemetry: jobTelemetry(parents[index] ?? '') },
          })),
        );
      }
    },
    missing,
    async promote(entries) {
      await Promise.all(entries.map((entry) => endDelay(queue, jobIdOf(entry))));
    },
    async correctDelays(nowMs) {
      const lasting = [queue.toKey('active'), queue.toKey('stalled-check'), keys.absent];
      await locks(lasting, [queue.toKey(''), LOCK_MS_MAX, DELAYS_SEEN_MAX]);
      if (Date.now() > nowMs + CLOCK_SLACK_MS) return { begunAnew: 0, ended: 0 };
      const at = [queue.toKey('delayed'), queue.toKey('marker'), keys.absent];
      const [begunAnew, late] = await delays(at, [queue.toKey(''), CLOCK_SLACK_MS, DELAYS_SEEN_MAX]);
      const ended = await Promise.all(late.map((id) => endDelay(queue, id)));
      return { begunAnew, ended: ended.filter(Boolean).length };
    },
    // BullMQ stores the distance from its own time. `correctDelays` does the rest: with a clock ahead, the job waits
    // longer until then.
    postpone: (job, token, nowMs, delayMs) => job.moveToDelayed(Math.max(nowMs, Date.now()) + delayMs, token),
    close: () => queue.close(),
  };
}

async function endDelay(queue: Queue<TurnJob>, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  return job !== undefined && whileDelayed(job, () => job.promote());
}

/** Changes a delayed job. Returns false when it is not, or no longer, delayed. */
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
  options: { share: Share; limits: QueueLimits; handover: Handover },
  processor: (job: Job<TurnJob>, token: string | undefined, signal: AbortSignal | undefined) => Promise<void>,
): Worker<TurnJob> {
  // BullMQ gives a processor its abort signal only when it declares three parameters.
  const run = (job: Job<TurnJob>, token?: string, signal?: AbortSignal) => processor(job, token, signal);
  const settings = {
    connection: redis,
    prefix: keys.queuePrefix,
    ...(telemetry.queue && { telemetry: telemetry.queue }),
    autorun: false,
    concurrency: options.share.allowed(),
    lockDuration: options.limits.lockMs,
    lockRenewTime: options.limits.lockMs / RENEWALS,
    stalledInterval: options.limits.stalledCheckMs,
    // A stalled job runs again however often it stalls: the turn record counts attempts, and lasts.
    maxStalledCount: MANY,
    drainDelay: 5,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  };
  const worker = new Worker<TurnJob>(TURNS_QUEUE, run, settings, options.handover.workerSide);
  keepJobSpans(worker);
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost');
  });
  options.share.onChange(() => follow(worker, options.share));
  return worker;
}

/** Leaves jobs beyond this process's share to other processes. */
function follow(worker: Worker<TurnJob>, share: Share): void {
  const [before, allowed] = [worker.concurrency, share.allowed()];
  worker.concurrency = allowed;
  // A worker at its limit looks for more jobs only when one of its own ends, unless it is resumed.
  const isAsleep = allowed > before && share.inHand() >= before;
  if (!isAsleep || !worker.isRunning() || worker.closing) return;
  void worker.pause(true);
  void worker.resume();
}

/** One span per message in the message's own trace; BullMQ's bulk span would join them all into an unrelated one. */
function announce(telemetry: Telemetry, { entry, traceparent: parent }: Head): Promise<string> {
  const attributes = { 'messaging.system': 'redis', 'messaging.message.id': entry };
  return telemetry.span(SPAN.enqueue, attributes, async () => traceparent(), { kind: SpanKind.PRODUCER, parent });
}
