import { type EntryId, jobIdOf, type LaneKey } from '../../shared/redis/keys.ts';
import type { Head } from '../../shared/state/lane/lanes.ts';

/** A job, as BullMQ would keep it. */
export interface QueuedJob {
  readonly id: string;
  readonly entry: EntryId;
  readonly chat: LaneKey;
  state: 'waiting' | 'active' | 'delayed';
  /** False while it stands in none of BullMQ's lists, although its hash is there. */
  isListed: boolean;
  /** Names the run that holds its lock. */
  token: string | undefined;
  /** Its delay, by the clock of Redis: when it was set, and for how long. */
  delay: { setAtMs: number; forMs: number } | undefined;
}

/**
 * What BullMQ guarantees, and no more: a job with a known id is not added again; a job runs under a lock, and runs again
 * when that expires, so that two may run it; only the holder of the lock can end it or move it; a job of which nobody
 * says anything is not lost.
 */
export class JobQueue {
  readonly #jobs = new Map<string, QueuedJob>();
  #tokens = 0;

  all(): QueuedJob[] {
    return [...this.#jobs.values()];
  }

  add(heads: readonly Head[]): void {
    for (const { entry, chat } of heads) {
      const id = jobIdOf(entry);
      if (this.#jobs.has(id)) continue;
      this.#jobs.set(id, { id, entry, chat, state: 'waiting', isListed: true, token: undefined, delay: undefined });
    }
  }

  /** Those that a worker could take. */
  waiting(): QueuedJob[] {
    return this.all().filter(({ state, isListed }) => state === 'waiting' && isListed);
  }

  /** Gives a job to a worker, under a lock that its token names. */
  take(job: QueuedJob): string {
    this.#tokens += 1;
    Object.assign(job, { state: 'active', token: `lock ${this.#tokens}` });
    return `lock ${this.#tokens}`;
  }

  /** The job is over. A lock that is gone ends nothing. */
  end(token: string): void {
    const job = this.#heldBy(token);
    if (job) this.#jobs.delete(job.id);
  }

  /** Moves a running job. Throws what BullMQ throws when the lock is gone. */
  move(token: string, to: 'waiting' | 'delayed', delay?: QueuedJob['delay']): void {
    const job = this.#heldBy(token);
    if (!job) throw new Error('Missing lock for job');
    this.#release(job, to, delay);
  }

  /** The lock of a job is over: it may run again, whatever became of the run that held it. */
  expire(job: QueuedJob): void {
    this.#release(job, 'waiting', undefined);
  }

  /** A delay is over. */
  wake(job: QueuedJob): void {
    this.#release(job, 'waiting', undefined);
  }

  remove(job: QueuedJob): void {
    this.#jobs.delete(job.id);
  }

  #release(job: QueuedJob, state: 'waiting' | 'delayed', delay: QueuedJob['delay']): void {
    Object.assign(job, { state, token: undefined, delay });
    // A job that is moved goes behind the others.
    this.#jobs.delete(job.id);
    this.#jobs.set(job.id, job);
  }

  #heldBy(token: string): QueuedJob | undefined {
    return this.all().find((job) => job.token === token);
  }
}
