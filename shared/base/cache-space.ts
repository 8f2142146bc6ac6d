const MB = 1024 * 1024;
/** The interval of sweeps. A sweep drops entries whose last `hold` is this old, so erased data is gone within half an hour. */
const IDLE_MS = 15 * 60_000;

interface Entry {
  readonly bytes: number;
  readonly usedAtMs: number;
  readonly drop: () => void;
}

/**
 * A limit on the memory that the caches of a process use together. Each cache holds its entries here, with estimated sizes.
 *
 * Contract: the estimates never add up to more than `maxBytes`. To make room, the space drops the entries whose last `hold` was
 * longest ago. A sweep also drops entries whose last `hold` is a quarter of an hour old. So `drop` may be called at any time.
 */
export class CacheSpace {
  readonly maxBytes: number;
  readonly #entries = new Map<unknown, Entry>();
  #usedBytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(maxBytes = 64 * MB) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Holds an entry as the newest, in place of the key's earlier entry. Returns false if this entry alone exceeds the limit. */
  hold(key: unknown, bytes: number, drop: () => void): boolean {
    this.release(key);
    if (bytes > this.maxBytes) return false;
    this.#entries.set(key, { bytes, drop, usedAtMs: performance.now() });
    this.#usedBytes += bytes;
    for (const [oldest] of this.#entries) {
      if (this.#usedBytes <= this.maxBytes) break;
      this.#drop(oldest);
    }
    this.#sweep ??= setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
    return true;
  }

  /** Removes the entry of a key, if any, without calling its `drop`. For a cache that has dropped the data itself. */
  release(key: unknown): void {
    this.#usedBytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #drop(key: unknown): void {
    const entry = this.#entries.get(key);
    this.release(key);
    entry?.drop();
  }

  #dropIdle(): void {
    const nowMs = performance.now();
    for (const [key, { usedAtMs }] of this.#entries) if (nowMs - usedAtMs >= IDLE_MS) this.#drop(key);
    this.#sweep = this.#entries.size === 0 ? undefined : setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
  }
}

/** Creates a cache space of `mb` megabytes. */
export function cacheSpaceOf(mb: number): CacheSpace {
  return new CacheSpace(mb * MB);
}
