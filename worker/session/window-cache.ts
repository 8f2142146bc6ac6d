import type { SessionId } from '../../shared/redis/keys.ts';
import type { HeldWindow } from './held-window.ts';

/** Room for the windows of a process, in bytes as they are in memory. */
const ROOM_BYTES = 32 * 1024 * 1024;
/** A conversation that rests for this long leaves the memory, and with it what was erased meanwhile. */
const IDLE_MS = 15 * 60_000;
/** A shorter window is decoded faster than many of them are worth keeping. */
const RECORDS_MIN = 16;
/** What objects take beside their text, with what a view makes of them. */
const RECORD_BYTES = 700;
const WINDOW_BYTES = 1_000;

interface Entry {
  readonly window: HeldWindow;
  readonly bytes: number;
  readonly usedAtMs: number;
}

/**
 * The windows that a process has decoded, by session. Nothing here is believed: a load says whether what is held still
 * stands in the log. So an entry may be missing, old, or of a log that Redis has lost.
 *
 * Contract: never larger than its room; what was used longest ago goes first, and all that was not used for a while.
 */
export class WindowCache {
  readonly #roomBytes: number;
  readonly #recordsMin: number;
  readonly #entries = new Map<SessionId, Entry>();
  #bytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor({ roomBytes = ROOM_BYTES, recordsMin = RECORDS_MIN } = {}) {
    this.#roomBytes = roomBytes;
    this.#recordsMin = recordsMin;
  }

  /** What is held of a session. */
  of(session: SessionId): HeldWindow | undefined {
    return this.#entries.get(session)?.window;
  }

  /** Holds what a load has read, in place of what was held before. */
  hold(session: SessionId, window: HeldWindow): void {
    this.#drop(session);
    if (window.records.length < this.#recordsMin || window.records.length === 0) return;
    const bytes = bytesOf(window);
    if (bytes > this.#roomBytes) return;
    this.#entries.set(session, { window, bytes, usedAtMs: performance.now() });
    this.#bytes += bytes;
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#roomBytes) break;
      this.#drop(oldest);
    }
    this.#sweep ??= setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
  }

  #drop(session: SessionId): void {
    const entry = this.#entries.get(session);
    if (entry === undefined) return;
    this.#entries.delete(session);
    this.#bytes -= entry.bytes;
  }

  #dropIdle(): void {
    const nowMs = performance.now();
    for (const [session, { usedAtMs }] of this.#entries) if (nowMs - usedAtMs >= IDLE_MS) this.#drop(session);
    this.#sweep = this.#entries.size === 0 ? undefined : setTimeout(() => this.#dropIdle(), IDLE_MS).unref();
  }
}

function bytesOf({ sizes, head }: HeldWindow): number {
  let bytes = WINDOW_BYTES + (head?.bytes ?? 0);
  for (const size of sizes) bytes += size + RECORD_BYTES;
  return bytes;
}
