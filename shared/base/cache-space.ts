const MB = 1024 * 1024;
/** What rests for this long leaves the memory, and with it what was erased meanwhile. */
const IDLE_MS = 15 * 60_000;

interface Held {
  readonly bytes: number;
  readonly usedAtMs: number;
  readonly drop: () => void;
}

/**
 * The memory in which a process keeps what it has read of chats, whatever kind it is. Sizes are in bytes, as their
 * owners estimate them.
 *
 * Contract: what is held is never more than `maxBytes`; what was used longest ago goes first, and so does all that was
 * not used for a quarter of an hour. Who holds something can lose it at any time, by a call of its `drop`.
 */
export class CacheSpace {
  readonly maxBytes: number;
  readonly #held = new Map<unknown, Held>();
  #usedBytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(maxBytes = 64 * MB) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Holds something under a key, as the one used last, in place of what the key held. False if it is too large. */
  hold(key: unknown, bytes: number, drop: () => void): boolean {
    this.release(key);
    if (bytes > this.maxBytes) return false;
    this.#held.set(key, { bytes, drop, usedAtMs: performance.now() });
    this.#usedBytes += bytes;
    for (const [oldest] of this.#held) {
      if (this.#usedBytes <= this.maxBytes) break;
      this.#drop(oldest);
    }
    this.#sweep ??= setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
    return true;
  }

  /** Its owner has dropped it. */
  release(key: unknown): void {
    this.#usedBytes -= this.#held.get(key)?.bytes ?? 0;
    this.#held.delete(key);
  }

  #drop(key: unknown): void {
    const held = this.#held.get(key);
    this.release(key);
    held?.drop();
  }

  #dropIdle(): void {
    const nowMs = performance.now();
    for (const [key, { usedAtMs }] of this.#held) if (nowMs - usedAtMs >= IDLE_MS) this.#drop(key);
    this.#sweep = this.#held.size === 0 ? undefined : setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
  }
}

/** A space of so many MB. */
export function cacheSpaceOf(mb: number): CacheSpace {
  return new CacheSpace(mb * MB);
}
