const BACKOFF_FACTOR = 2.5;
const BACKOFF_MS_MAX = 30_000;

/**
 * The wait after the nth failed attempt: growing from `baseMs`, bounded, with jitter so that chats do not all return at
 * once. A wait that the other side asks for is never shortened.
 */
export function backoffMs(attempt: number, baseMs: number, retryAfterMs?: number, random = Math.random): number {
  const grown = Math.min(baseMs * BACKOFF_FACTOR ** Math.max(0, attempt - 1), BACKOFF_MS_MAX);
  const jittered = grown * (0.75 + 0.25 * random());
  return Math.round(Math.max(jittered, retryAfterMs || 0));
}
