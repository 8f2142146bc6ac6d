/**
 * How many turns a process runs at once, over all its shards. Slots are granted in the order of the requests, so no
 * shard can starve another.
 */
export interface Slots {
  /** The share of one shard. */
  share(): Share;
}

/** A shard's share of its process's slots. */
export interface Share {
  /** Waits for a slot. Returns a function that releases it, or nothing when none came free in time. Never rejects. */
  take(timeoutMs: number): Promise<(() => void) | undefined>;
  /** Resolves when a slot is free, and in any case after `timeoutMs`. Never rejects. */
  whenFree(timeoutMs: number): Promise<void>;
  /** How many jobs the shard has in hand: running, or waiting for a slot. */
  inHand(): number;
  /** How many jobs the shard may have in hand; at least one, because without a listener it is never notified. */
  allowed(): number;
  /** Calls back each time `allowed` may have changed. */
  onChange(listener: () => void): void;
}

/** A pool of `count` slots for turns. */
export function createSlots(count: number): Slots {
  const pool = new Pool(count);
  return { share: () => shareOf(pool) };
}

/** Those who wait for something, in the order in which they came. */
class Waiters {
  readonly #waiting: (() => void)[] = [];

  /** Returns whether it was woken in time. */
  wait(timeoutMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const wake = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(wake), 1);
      resolve(false);
    }, timeoutMs);
    this.#waiting.push(wake);
    return promise;
  }

  /** Returns whether anybody waited. */
  wakeFirst(): boolean {
    const first = this.#waiting.shift();
    first?.();
    return first !== undefined;
  }

  wakeAll(): void {
    while (this.wakeFirst());
  }
}

/** The slots of a process, and who wants to know of them. */
class Pool {
  free: number;
  readonly listeners: (() => void)[] = [];
  readonly #asking = new Waiters();
  readonly #resting = new Waiters();

  constructor(count: number) {
    this.free = count;
  }

  /** Returns whether a slot is ours. */
  async take(timeoutMs: number): Promise<boolean> {
    if (this.free === 0) return this.#asking.wait(timeoutMs);
    this.free -= 1;
    return true;
  }

  release(): void {
    if (this.#asking.wakeFirst()) return;
    this.free += 1;
    this.#resting.wakeAll();
  }

  async whenFree(timeoutMs: number): Promise<void> {
    if (this.free === 0) await this.#resting.wait(timeoutMs);
  }

  notifyListeners(): void {
    for (const listener of this.listeners) listener();
  }
}

function shareOf(pool: Pool): Share {
  let [running, asking] = [0, 0];
  return {
    async take(timeoutMs) {
      asking += 1;
      const asked = pool.take(timeoutMs);
      pool.notifyListeners();
      const isMine = await asked;
      asking -= 1;
      if (!isMine) return undefined;
      running += 1;
      pool.notifyListeners();
      return () => {
        running -= 1;
        pool.release();
        pool.notifyListeners();
      };
    },
    whenFree: (timeoutMs) => pool.whenFree(timeoutMs),
    inHand: () => running + asking,
    allowed: () => Math.max(1, running + pool.free),
    onChange: (listener) => void pool.listeners.push(listener),
  };
}
