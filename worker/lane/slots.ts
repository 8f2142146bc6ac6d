/** The right of a job to run a turn. */
export interface Slot {
  /** Gives up the slot while the job delivers, unless `DELIVERING_MAX` is reached. The process keeps the job. Idempotent. */
  release(): void;
  /** Takes a slot again, if the job has none and can get one at once. Returns whether the job has a slot now. */
  tryReacquire(): Promise<boolean>;
  /** Call once, when the job has ended. Gives up the slot, if the job has one. */
  end(): void;
}

/** A shard's share of its process's slots. */
export interface Share {
  /** Waits at most `timeoutMs` for a slot for a job of this person. Returns `undefined` if the job gets none. Never rejects. */
  take(timeoutMs: number, person?: number): Promise<Slot | undefined>;
  /** Resolves when a slot is free, or after `timeoutMs`. Never rejects. */
  whenFree(timeoutMs: number): Promise<void>;
  /** How many jobs of the shard this process has: jobs that run, deliver or wait for a slot. */
  inHand(): number;
  /**
   * The limit on `inHand`; at least one, because a BullMQ worker with a concurrency of 0 would fetch nothing when a slot
   * becomes free.
   */
  allowed(): number;
  /** Calls `listener` each time the result of `allowed` may have changed. */
  onChange(listener: () => void): void;
}

/** The maximum number of jobs of a shard that deliver without a slot. Further jobs keep their slot while they deliver. */
const DELIVERING_MAX = 500;
/** With this many waiting jobs over their person's limit, a shard stops looking for other people's jobs. */
const BLOCKED_MAX = 200;
/** One person gets at most half of the slots for this long after another person's last request. */
const OTHERS_MS = 600_000;

export type Slots = ReturnType<typeof createSlots>;

/**
 * Limits how many turns a process runs at once, over all its shards, to `count`. Grants slots in the order of the requests, so
 * that no shard starves another. But one person gets at most half of the slots while another person waits for a slot, or if
 * another person asked for one in the last 10 minutes. `share` creates the share of one shard.
 */
export function createSlots(count: number) {
  const pool = new Pool(count);
  return { share: () => shareOf(pool) };
}

interface Request {
  readonly share: object;
  readonly person: number | undefined;
  readonly grant: () => void;
}

/** The slots of a process, and the listeners to their changes. */
class Pool {
  free: number;
  readonly listeners: (() => void)[] = [];
  readonly #half: number;
  /** How many slots the jobs of each person have. */
  readonly #running = new Map<number | undefined, number>();
  readonly #requests = new Set<Request>();
  readonly #waitingForSlot = new Set<() => void>();
  /** The person of the latest request, the time of that request, and the time of the latest request by any other person. */
  #last: number | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #otherMs = Number.NEGATIVE_INFINITY;

  constructor(count: number) {
    this.free = count;
    this.#half = Math.ceil(count / 2);
  }

  /** Waits at most `timeoutMs` for a slot; returns whether it was granted. Calls `onGrant` in the same step as the grant. */
  async take(share: object, person: number | undefined, timeoutMs: number, onGrant: () => void): Promise<boolean> {
    if (person !== undefined) {
      if (person !== this.#last) this.#otherMs = this.#lastMs;
      this.#last = person;
      this.#lastMs = performance.now();
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const grant = (): void => {
      clearTimeout(timer);
      onGrant();
      resolve(true);
    };
    const request = { share, person, grant };
    const timer = setTimeout(() => {
      this.#requests.delete(request);
      resolve(false);
      this.notify();
    }, timeoutMs);
    this.#requests.add(request);
    this.#grant();
    this.notify();
    return promise;
  }

  release(person: number | undefined): void {
    this.free += 1;
    this.#count(person, -1);
    this.#grant();
    if (this.free > 0) for (const wake of [...this.#waitingForSlot]) wake();
    this.notify();
  }

  async whenFree(timeoutMs: number): Promise<void> {
    if (this.free > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#waitingForSlot.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waitingForSlot.delete(resolve);
  }

  /**
   * How many jobs the shard may have beyond its running jobs, its delivering jobs and the free slots: one for each waiting job
   * over its person's limit; and, while no slot is free and a person has more than half of the slots, one more, to find a job
   * of another person.
   */
  lookAhead(share: object): number {
    const blocked = [...this.#requests].filter((each) => each.share === share && !this.#mayRun(each.person)).length;
    const hasMoreThanHalf = [...this.#running].some(([person, slots]) => person !== undefined && slots > this.#half);
    return blocked + (this.free === 0 && hasMoreThanHalf && blocked < BLOCKED_MAX ? 1 : 0);
  }

  notify(): void {
    for (const listener of this.listeners) listener();
  }

  #grant(): void {
    for (const request of this.#requests) {
      if (this.free === 0) return;
      if (!this.#mayRun(request.person)) continue;
      this.#requests.delete(request);
      this.free -= 1;
      this.#count(request.person, 1);
      request.grant();
    }
  }

  #mayRun(person: number | undefined): boolean {
    if (person === undefined || (this.#running.get(person) ?? 0) < this.#half) return true;
    const otherMs = person === this.#last ? this.#otherMs : this.#lastMs;
    if (performance.now() - otherMs < OTHERS_MS) return false;
    for (const request of this.#requests) if (request.person !== person) return false;
    return true;
  }

  #count(person: number | undefined, by: number): void {
    const now = (this.#running.get(person) ?? 0) + by;
    if (now === 0) this.#running.delete(person);
    else this.#running.set(person, now);
  }
}

function shareOf(pool: Pool): Share {
  const counts = { inHand: 0, running: 0, delivering: 0 };
  const take = (person: number | undefined, timeoutMs: number, onGrant: () => void) =>
    pool.take(counts, person, timeoutMs, () => {
      counts.running += 1;
      onGrant();
    });
  const slotOf = (person: number | undefined): Slot => {
    let state: 'running' | 'delivering' = 'running';
    const leave = (): void => {
      counts[state] -= 1;
      if (state === 'running') pool.release(person);
    };
    return {
      release() {
        if (state === 'delivering' || counts.delivering >= DELIVERING_MAX) return;
        counts.delivering += 1;
        leave();
        state = 'delivering';
      },
      tryReacquire: async () =>
        state === 'running' ||
        take(person, 0, () => {
          leave();
          state = 'running';
        }),
      end() {
        counts.inHand -= 1;
        leave();
        pool.notify();
      },
    };
  };
  return {
    async take(timeoutMs, person) {
      counts.inHand += 1;
      if (await take(person, timeoutMs, () => {})) return slotOf(person);
      counts.inHand -= 1;
      pool.notify();
      return undefined;
    },
    whenFree: (timeoutMs) => pool.whenFree(timeoutMs),
    inHand: () => counts.inHand,
    allowed: () => Math.max(1, counts.running + counts.delivering + pool.free + pool.lookAhead(counts)),
    onChange: (listener) => void pool.listeners.push(listener),
  };
}
