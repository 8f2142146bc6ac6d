const MB = 1024 * 1024;
/** The space drops an entry after so long without a further `hold`. This bounds how long erased data stays in memory. */
const IDLE_MS = 15 * 60_000;

interface Entry {
  readonly bytes: number;
  readonly usedAtMs: number;
  readonly drop: () => void;
}

/**
 * A limit for the memory of the caches of a process. Each cache holds its entries here and estimates their bytes.
 *
 * Contract: the entries never exceed `maxBytes`. The space drops the entry that was held longest ago first, and each entry
 * that was not held again for a quarter of an hour. It calls `drop` of an entry at any time.
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

  /** Holds an entry as the newest one, in place of the key's earlier entry. Returns false if the entry is too large. */
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

  /** Removes an entry that its owner has dropped. */
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

/** Creates a space of `mb` megabytes. */
export function cacheSpaceOf(mb: number): CacheSpace {
  return new CacheSpace(mb * MB);
}
