import { join } from 'node:path';
import { SpanKind } from '@opentelemetry/api';
import { type Job, Queue, Worker } from 'bullmq';
import { jobTelemetry, SPAN, type Telemetry, traceparent } from '../../shared/base/telemetry.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, jobIdOf, type Keys, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import type { Head } from './lane.ts';
import type { Share } from './slots.ts';

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
  promote(entries: readonly EntryId[]): Promise<void>;
  /**
   * Holds delays against the time of Redis. One that a clock set which was ahead begins anew: it only ever gets shorter. One
   * that is over, and whose end a clock does not see that is behind, is ended. A process whose own clock is ahead of `nowMs`,
   * the time of Redis, leaves that to others: it would end at once what it had begun anew. Answers how many there were.
   */
  correctDelays(nowMs: number): Promise<{ begunAnew: number; ended: number }>;
  /** Puts a running job off, by the time of Redis or, if that is ahead, of this process; then `DelayedError` must be thrown. */
  postpone(job: Job<TurnJob>, token: string | undefined, nowMs: number, delayMs: number): Promise<void>;
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
  const scripts = import.meta.dirname;
  const missing = bindScript<[number[], number]>(redis, join(scripts, 'missing.lua'));
  const delays = bindScript<[number, string[]]>(redis, join(scripts, 'delays.lua'));
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
    async promote(entries) {
      await Promise.all(entries.map((entry) => endDelay(queue, jobIdOf(entry))));
    },
    async correctDelays(nowMs) {
      if (Date.now() > nowMs + CLOCK_SLACK_MS) return { begunAnew: 0, ended: 0 };
      const at = [queue.toKey('delayed'), queue.toKey('marker'), keys.absent];
      const [begunAnew, late] = await delays(at, [queue.toKey(''), CLOCK_SLACK_MS, DELAYS_SEEN_MAX]);
      const ended = await Promise.all(late.map((id) => endDelay(queue, id)));
      return { begunAnew, ended: ended.filter(Boolean).length };
    },
    // BullMQ keeps how far that is from its own time. The rest is for `correctDelays`: one that is ahead waits longer until then.
    postpone: (job, token, nowMs, delayMs) => job.moveToDelayed(Math.max(nowMs, Date.now()) + delayMs, token),
    close: () => queue.close(),
  };
}

async function endDelay(queue: Queue<TurnJob>, id: string): Promise<boolean> {
  const job = await queue.getJob(id);
  return job !== undefined && whileDelayed(job, () => job.promote());
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
  options: { share: Share; limits: QueueLimits },
  processor: (job: Job<TurnJob>, token: string | undefined, signal: AbortSignal | undefined) => Promise<void>,
): Worker<TurnJob> {
  // BullMQ gives a processor its abort signal only when it declares three parameters.
  const worker = new Worker<TurnJob>(TURNS_QUEUE, (job, token, signal) => processor(job, token, signal), {
    connection: redis,
    prefix: keys.queuePrefix,
    ...(telemetry.queue && { telemetry: telemetry.queue }),
    autorun: false,
    concurrency: options.share.allowed(),
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
  options.share.onChange(() => follow(worker, options.share));
  return worker;
}

/** Jobs beyond what may run here are for other processes. */
function follow(worker: Worker<TurnJob>, share: Share): void {
  const [before, allowed] = [worker.concurrency, share.allowed()];
  worker.concurrency = allowed;
  // One that had all that it could take looks for more only when one of its own jobs ends, unless it is resumed.
  const isAsleep = allowed > before && share.inHand() >= before;
  if (!isAsleep || !worker.isRunning() || worker.closing) return;
  void worker.pause(true);
  void worker.resume();
}

/** One span per message in the message's own trace; BullMQ's bulk span would join them all into a foreign one. */
function announce(telemetry: Telemetry, { entry, traceparent: parent }: Head): Promise<string> {
  const attributes = { 'messaging.system': 'redis', 'messaging.message.id': entry };
  return telemetry.span(SPAN.enqueue, attributes, async () => traceparent(), { kind: SpanKind.PRODUCER, parent });
}
