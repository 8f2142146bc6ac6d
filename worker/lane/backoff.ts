const BASE_MS = 2_000;
const FACTOR = 2.5;
const MAX_MS = 30_000;
/** A provider may ask for a long wait; a user who would wait longer than this is better notified. */
export const RETRY_AFTER_MS_MAX = 300_000;

/**
 * The wait after the nth failed attempt: growing, bounded, with jitter so that chats do not all return at once. A wait
 * that the other side asks for is honoured up to a cap, and jitter never shortens it.
 */
export function backoffMs(attempt: number, retryAfterMs?: number, random: () => number = Math.random): number {
  const grown = Math.min(BASE_MS * FACTOR ** Math.max(0, attempt - 1), MAX_MS);
  const jittered = grown * (0.75 + 0.25 * random());
  const asked = Math.min(retryAfterMs || 0, RETRY_AFTER_MS_MAX);
  return Math.round(Math.max(jittered, asked));
}
