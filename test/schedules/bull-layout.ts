import type { Redis } from 'ioredis';
import { type Keys, keysOf, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';
import { openQueue, type TurnQueue } from '../../worker/lane/queue.ts';
import type { JobQueue, QueuedJob } from './job-queue.ts';

const LOCK_MS = 60_000;
const UNITS = 0x1000;
const PLACES = ['wait', 'active', 'delayed', 'completed', 'failed'];

/** The product's own queues, one a shard, kept for all schedules: to open one takes longer than a schedule. */
const opened = new WeakMap<Redis, Map<string, TurnQueue>>();

/**
 * The jobs of a schedule, written down as BullMQ keeps them, for the product's own scripts that repair them. They are
 * written before each pass and read back after it.
 */
export class BullLayout {
  readonly #redis: Redis;
  readonly #queue: TurnQueue;
  readonly #prefix: string;
  readonly #jobs: JobQueue;
  #written: string[] = [];
  /** Delays that a pass ended before their time. */
  readonly cutDelays: string[] = [];

  constructor(redis: Redis, shard: number, jobs: JobQueue) {
    this.#redis = redis;
    this.#jobs = jobs;
    this.#queue = queueOf(redis, keysOf(shard));
    this.#prefix = `${keysOf(shard).queuePrefix}:${TURNS_QUEUE}:`;
  }

  /** As `TurnQueue.missing`. */
  async missing(heads: readonly Head[]): Promise<{ heads: Head[]; broken: number }> {
    await this.#write();
    const found = await this.#queue.missing(heads);
    await this.#readBack();
    return found;
  }

  /** As `TurnQueue.endDelays`. */
  async endDelays(nowMs: number): Promise<number> {
    await this.#write();
    const ended = await this.#queue.endDelays(nowMs);
    const pending = this.#jobs.all().filter(({ state }) => state === 'delayed');
    const scores = await Promise.all(pending.map(({ id }) => this.#redis.zscore(`${this.#prefix}delayed`, id)));
    for (const [at, job] of pending.entries()) this.#judgeDelay(job, scores[at] ?? null);
    return ended;
  }

  #judgeDelay(job: QueuedJob, score: string | null): void {
    const { setAtMs = 0, forMs = 0 } = job.delay ?? {};
    const dueMs = score === null ? Date.now() : Math.floor(Number(score) / UNITS);
    if (dueMs < setAtMs + forMs)
      this.cutDelays.push(`a delay of ${forMs} ms is over ${setAtMs + forMs - dueMs} ms too early`);
  }

  async #write(): Promise<void> {
    const to = this.#redis.pipeline();
    to.del(...PLACES.map((place) => this.#prefix + place));
    // A job that is over leaves nothing: it may be made anew, since a parked message has several.
    for (const id of this.#written) to.del(this.#prefix + id, `${this.#prefix}${id}:lock`);
    this.#written = this.#jobs.all().map(({ id }) => id);
    for (const job of this.#jobs.all()) {
      const { id, state, token, delay } = job;
      if (token !== undefined) to.set(`${this.#prefix}${id}:lock`, token, 'PX', LOCK_MS);
      else to.del(`${this.#prefix}${id}:lock`);
      const dueMs = (delay?.setAtMs ?? 0) + (delay?.forMs ?? 0);
      const data = JSON.stringify({ untilMs: dueMs, delayMs: delay?.forMs ?? 0 });
      to.hset(this.#prefix + id, 'data', data, 'delay', delay?.forMs ?? 0);
      if (!job.isListed) continue;
      if (state === 'delayed') to.zadd(`${this.#prefix}delayed`, dueMs * UNITS, id);
      else to.rpush(this.#prefix + (state === 'waiting' ? 'wait' : 'active'), id);
    }
    await to.exec();
  }

  /** What the repair removed is gone. */
  async #readBack(): Promise<void> {
    const lost = this.#jobs.all().filter(({ isListed }) => !isListed);
    for (const job of lost) if ((await this.#redis.exists(this.#prefix + job.id)) === 0) this.#jobs.remove(job);
  }
}

function queueOf(redis: Redis, keys: Keys): TurnQueue {
  const known = opened.get(redis) ?? new Map<string, TurnQueue>();
  opened.set(redis, known);
  const queue = known.get(keys.queuePrefix) ?? openQueue(redis, keys);
  known.set(keys.queuePrefix, queue);
  return queue;
}
